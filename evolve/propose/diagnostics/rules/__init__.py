"""What is looked for: one pure function a kind of finding, from the events of a transcript to findings."""
