"""One cell as a person looks at it: what was asked, what was done, what came of it, and what it used."""
