#!/usr/bin/env python3
"""A small agent of one turn, as a stranger would write it: it is described in evolve.yaml and known nowhere else."""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

if "--version" in sys.argv:
    print("mini 1.2.3")
    sys.exit(0)

settings = json.loads((Path.home() / ".mini/settings.json").read_text())
prompt = sys.stdin.read()
system = ""
if settings.get("use_skills"):
    system = "\n\n".join(path.read_text() for path in sorted((Path.home() / ".mini/skills").glob("*/SKILL.md")))
messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
body = {"model": sys.argv[sys.argv.index("--model") + 1], "messages": messages, "tools": [{"name": "none"}]}
request = urllib.request.Request(
    os.environ["BASE_URL"] + "/chat/completions",
    data=json.dumps(body).encode(),
    headers={"content-type": "application/json", "authorization": "Bearer " + os.environ["KEY"]},
)
try:
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
except urllib.error.HTTPError as error:
    if not settings.get("shrug"):
        raise
    message = {"content": f"[API Error: {error.code}]"}
    answer = {"choices": [{"message": message}], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}
reply = answer["choices"][0]["message"]["content"]
Path("out.txt").write_text(reply)
usage = answer["usage"]
told = {"in": usage["prompt_tokens"] + settings.get("lie", 0), "out": usage["completion_tokens"]}
if settings.get("text"):
    print(f"thinking...\nANSWER: {reply}\ntokens: {told['in']:,} in, {told['out']} out\nbye")
else:
    print("starting up")
    print(json.dumps({"event": "start"}))
    print(json.dumps({"event": "end", "result": {"texts": ["no", reply]}, "stats": told}))
