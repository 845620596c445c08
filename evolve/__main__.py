"""``python -m evolve``."""

from evolve.cli.entry import run

if __name__ == "__main__":
    run()
