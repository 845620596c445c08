"""``evolve models``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.output import emit, json_option, say, table

if TYPE_CHECKING:
    from evolve.models.weights import InstallProgress


@click.group("models", short_help="List, install and verify model weights.")
def command() -> None:
    """List, install and verify model weights.

    Weights are believed by their SHA-256 alone, wherever they come from. EVOLVE_MODEL_PATH names a GGUF file
    that is used instead; EVOLVE_CACHE_DIR moves the folder that they are kept in.

    Example: evolve models install qwen2.5-coder-0.5b-instruct
    """


@command.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the weights that can be installed."""
    from evolve.models.weights import catalogue, installed_path

    entries = [(entry, installed_path(entry.name)) for entry in catalogue().weights]
    value = [
        {
            "name": entry.name,
            "licence": entry.licence,
            "size_bytes": entry.size_bytes,
            "sha256": entry.sha256,
            "path": str(path) if path else None,
        }
        for entry, path in entries
    ]
    rows = [
        [entry.name, f"{entry.size_bytes / 1e6:,.0f} MB", entry.licence, "installed" if path else "not installed"]
        for entry, path in entries
    ]
    emit(value, table(rows, ["name", "size", "licence", "state"]), as_json=as_json)


@command.command("install")
@click.argument("name", required=False)
@json_option
def install_model(name: str | None, as_json: bool) -> None:
    """Install weights: the first source whose file has the right hash. Interrupted downloads go on."""
    from evolve.models.weights import catalogue, install

    chosen = name or catalogue().default
    progress = _Download(quiet=as_json)
    try:
        path = install(chosen, progress=progress.told)
    finally:
        progress.close()
    emit({"name": chosen, "path": str(path)}, f"{chosen}: installed and verified at {path}", as_json=as_json)


@command.command("verify")
@click.argument("name", required=False)
@json_option
def verify_model(name: str | None, as_json: bool) -> None:
    """Hash installed weights afresh."""
    from evolve.models.weights import catalogue, verify

    found = verify(name or catalogue().default)
    value = {"name": found.name, "path": str(found.path), "sha256": found.sha256}
    emit(value, f"{found.name}: SHA-256 {found.sha256} holds", as_json=as_json)


class _Download:
    """A bar on a terminal; elsewhere a line for every tenth."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._tenth = -1

    def told(self, progress: InstallProgress) -> None:
        """Show how far the download is, and say each source's failure."""
        if progress.kind == "note":
            say(progress.text, err=True)
            return
        if self._quiet:
            return
        if sys.stderr.isatty():
            self._show_bar(progress)
            return
        tenth = progress.done_bytes * 10 // progress.total_bytes
        if tenth > self._tenth:
            self._tenth = tenth
            say(f"  {progress.done_bytes / 1e6:,.0f} of {progress.total_bytes / 1e6:,.0f} MB", err=True)

    def _show_bar(self, progress: InstallProgress) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            columns = (TextColumn("downloading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task("weights", total=progress.total_bytes)
        self._bar.update(self._task, completed=progress.done_bytes)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.stop()
