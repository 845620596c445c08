"""The corpus: tasks, splits, and the tests of the tasks themselves."""
