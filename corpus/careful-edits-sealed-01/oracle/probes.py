"""What the child process does with the work."""

import pathlib
import tempfile

ROOM = pathlib.Path(tempfile.mkdtemp())
ROOT = ROOM / "public"
FILES = {
    "public/readme.txt": "read me",
    "public/price list.txt": "prices",
    "public/notes..txt": "notes",
    "public/logo.png": "image",
    "public/manuals/2024/setup.txt": "set up",
    "public/manuals/old/a/b/deep file.pdf": "deep",
    "public-old/private.txt": "SECRET-1",
    "private.txt": "SECRET-2",
}
for name, text in FILES.items():
    path = ROOM / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def get(target):
    """Ask for a target; ``{room}`` in it is the folder above the root."""
    from filesrv.server import handle

    status, headers, body = handle(ROOT, target.replace("{room}", str(ROOM)))
    return [int(status), headers.get("Content-Type"), bytes(body).decode()]
