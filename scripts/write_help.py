"""Write evolve/cli/help.txt, the help that is shown before anything is imported."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from evolve.cli.entry import HELP_FILE
from evolve.cli.main import cli

text = CliRunner().invoke(cli, ["--help"], prog_name="evolve", terminal_width=80).output
Path(HELP_FILE).write_text(text, encoding="utf-8")
