"""``python -m evolve``."""

from evolve.cli.main import run

if __name__ == "__main__":
    run()
