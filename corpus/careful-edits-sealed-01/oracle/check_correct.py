"""Files in subfolders and encoded names are served; the rest is as it was."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returned, returns, run

TEXT = "text/plain; charset=utf-8"
missing = returned(lambda answer: answer[0] == 404)

run(
    [
        ("a file in the root", ("get", "/files/readme.txt"), returns([200, TEXT, "read me"])),
        ("a query", ("get", "/files/readme.txt?v=2"), returns([200, TEXT, "read me"])),
        ("an encoded space", ("get", "/files/price%20list.txt"), returns([200, TEXT, "prices"])),
        ("two dots in a name", ("get", "/files/notes..txt"), returns([200, TEXT, "notes"])),
        ("a subfolder", ("get", "/files/manuals/2024/setup.txt"), returns([200, TEXT, "set up"])),
        (
            "a deep file",
            ("get", "/files/manuals/old/a/b/deep%20file.pdf"),
            returns([200, "application/pdf", "deep"]),
        ),
        ("an image", ("get", "/files/logo.png"), returns([200, "image/png", "image"])),
        ("no such file", ("get", "/files/nothing.txt"), missing),
        ("a folder", ("get", "/files/manuals"), missing),
        ("another prefix", ("get", "/other/readme.txt"), missing),
    ]
)
