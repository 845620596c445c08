"""The ``evolve`` program: what is asked for most is answered before anything is imported."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

HELP_FILE = os.path.join(os.path.dirname(__file__), "help.txt")
HELP = (["--help"], ["-h"])


def run() -> NoReturn:
    """Run the command line and exit with one of the codes."""
    asked = sys.argv[1:] in HELP
    if asked or len(sys.argv) == 1:
        stream = sys.stdout if asked else sys.stderr
        try:
            with open(HELP_FILE, encoding="utf-8") as file:
                stream.write(file.read())
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0 if asked else 2)
    # Sums of many threads differ in their last bits, and small systems are solved faster by one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from evolve.cli.main import run as run_main

    run_main()
