"""``evolve view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.output import emit, json_option, say
from evolve.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from evolve.view.site import Site


@click.command("view", short_help="Look at every sweep, generation and promotion in a browser, live.")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1; by default a free one.")
@click.option("--open", "opens", is_flag=True, help="Open a browser as well.")
@click.option("--export", "target", type=click.Path(path_type=Path), help="Write all pages to a new folder instead.")
@click.option(
    "--cells",
    is_flag=True,
    help="With --export: prompt, transcript and patch of each cell too, of sealed tasks as well; such a folder must "
    "not reach who proposes.",
)
@json_option
def command(folder: Path | None, port: int, opens: bool, target: Path | None, cells: bool, as_json: bool) -> None:
    """Look at every sweep, generation and promotion in a browser; what runs is followed as it goes.

    FOLDER lies in a workspace; by default the working folder does. The address that is printed has a random token:
    whoever knows it, on this machine, can read; nobody can change anything. Stop it with Ctrl-C.

    Example: evolve view --export site
    """
    from evolve.promote.keys import hide_key_file
    from evolve.view.site import Site
    from evolve.workspace import find_workspace

    if cells and target is None:
        raise InputError("--cells is of --export alone", hint="evolve view --export FOLDER --cells", code="usage")
    if target is not None and (port or opens):
        raise InputError("--export starts no server", hint="leave out --port and --open", code="usage")
    hide_key_file()
    workspace = find_workspace((folder or Path.cwd()).resolve())
    if target is not None:
        from evolve.view.export import export_site

        found = export_site(Site(workspace, live=False, cells=cells), target)
        told = [f"cannot be shown: {path}: {why}" for path, why in found.faults.items()]
        text = "\n".join([f"written: {target}/index.html, and {found.pages - 1:,} more pages", *told])
        value = {"first_page": f"{target}/index.html", "pages": found.pages, "faults": dict(found.faults)}
        emit(value, text, as_json=as_json)
        return
    _serve(Site(workspace, live=True, cells=True), port, opens=opens, as_json=as_json)


def _serve(site: Site, port: int, *, opens: bool, as_json: bool) -> None:
    from evolve.view.server import HOST, Viewer

    try:
        viewer = Viewer(site, port)
    except OSError as error:
        text = f"{HOST}:{port}: cannot be listened on: {error.strerror}"
        raise EnvironmentFault(text, hint="leave out --port for a free one", code="port") from error
    emit({"url": viewer.url}, viewer.url, as_json=as_json)
    say("stop it with Ctrl-C", err=True)
    if opens:
        click.launch(viewer.url)
    try:
        viewer.run()
    except KeyboardInterrupt:
        return
