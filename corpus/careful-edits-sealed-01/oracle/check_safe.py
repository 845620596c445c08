"""Nothing outside of the root is served, however it is asked for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import lacks, returned, run

TARGETS = [
    "/files/../private.txt",
    "/files/manuals/../../private.txt",
    "/files/%2e%2e/private.txt",
    "/files/%2E%2E%2Fprivate.txt",
    "/files/..%2fprivate.txt",
    "/files/%252e%252e%252fprivate.txt",
    "/files/....//private.txt",
    "/files/../public-old/private.txt",
    "/files/%2e%2e/public-old/private.txt",
    "/files/{room}/private.txt",
    "/files/%2F{room}/private.txt",
    "/files//{room}/public-old/private.txt",
    "/files/manuals/%2e%2e/%2e%2e/public-old/private.txt",
]

run(
    [
        ("a file is still served", ("get", "/files/readme.txt"), returned(lambda answer: answer[2] == "read me")),
        *(("a file outside of the root is served", ("get", target), lacks("SECRET")) for target in TARGETS),
    ]
)
