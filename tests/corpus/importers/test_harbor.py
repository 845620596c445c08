"""Importing Harbor tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from evolve.corpus.importers.staged import container_script
from evolve.corpus.loading import load_task
from evolve.corpus.selftest import check_task
from evolve.sandbox.choose import choose_sandbox
from tests.builders import write_files
from tests.conftest import CommandLine

CONFIG = """\
version = "1.0"
[metadata]
author_name = "A. Author"
difficulty = "easy"
category = "file-operations"
tags = ["files"]
created = 2025-01-01
[verifier]
timeout_sec = 30.0
[agent]
timeout_sec = 60.0
[environment]
build_timeout_sec = 600.0
cpus = 1
memory = "2G"
"""
DOCKERFILE = """\
# what the task begins with
FROM python:3.12-slim-bookworm
WORKDIR /app
COPY names.txt \\
     /app/
COPY data/ ./data
"""
TEST = """\
#!/bin/bash
python3 /tests/check.py && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""
CHECK = """\
import pathlib, sys
sys.exit(pathlib.Path("/app/sorted.txt").read_text().split() != ["a", "b", "c"])
"""
TASK: Mapping[str, str | bytes] = {
    "task.toml": CONFIG,
    "instruction.md": "Sort /app/names.txt into /app/sorted.txt.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/names.txt": "c\na\nb\n",
    "environment/data/more.txt": "more\n",
    "tests/test.sh": TEST,
    "tests/check.py": CHECK,
    "solution/solve.sh": "#!/bin/bash\nsort /app/names.txt > /app/sorted.txt\n",
}


def write_harbor(folder: Path, **changes: str | bytes | None) -> Path:
    """Write a task; ``changes`` are files, with ``__`` for a slash and ``_o_`` for a dot; ``None`` leaves one out."""
    changed = {name.replace("__", "/").replace("_o_", "."): content for name, content in changes.items()}
    files = {**TASK, **changed}
    return write_files(folder, {name: content for name, content in files.items() if content is not None})


def corpus_of(workspace: Path) -> list[str]:
    return sorted(path.name for path in (workspace / "corpus").iterdir())


def test_a_task_that_needs_no_container_is_imported_and_passes_the_check(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    ran = evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "Sort_Names")), "--prefix", "tb")
    assert ran.code == 0, ran.err
    task = load_task(workspace / "corpus/tb-sort-names")
    assert (task.task.kind, task.task.class_, task.task.tags, task.task.split) == (
        "edit",
        "file-operations",
        ("files",),
        "train",
    )
    assert task.task.prompt.startswith("Where the text below says /app, it means your working folder.")
    assert dict(task.seed.texts()) == {"names.txt": "c\na\nb\n", "data/more.txt": "more\n"}
    assert dict(task.good.texts()) == {"sorted.txt": "a\nb\nc\n"}
    assert (task.task.limits.wall_s, task.oracle.checks[0].model_dump()["timeout_s"]) == (60, 30)
    assert check_task(task, choose_sandbox()) == []
    assert evolve("check").code == 0


def test_of_a_folder_of_tasks_those_that_can_be_are_imported_and_the_others_say_why(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    write_harbor(tmp_path / "all/fine")
    write_harbor(tmp_path / "all/built", environment__Dockerfile="FROM python:3.12\nRUN make\n")
    write_harbor(tmp_path / "all/Fine")
    write_files(tmp_path / "all/.git", {"config": ""})
    ran = evolve("corpus", "import", "harbor", str(tmp_path / "all"), "--json")
    assert ran.code == 0
    assert [item["id"] for item in ran.json()["imported"]] == ["fine"]
    reasons = {item["source"]: item["reason"] for item in ran.json()["refused"]}
    assert reasons["built"] == "environment/Dockerfile:2: RUN needs a container"
    assert "its id would be 'fine'" in reasons["fine"]
    again = evolve("corpus", "import", "harbor", str(tmp_path / "all/fine"))
    assert (again.code, "exists already" in again.err) == (2, True)


def test_a_task_that_declares_its_setup_is_imported_whatever_its_container(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    config = CONFIG + '[metadata.evolve]\nsetup = [["sh", "make.sh"]]\n'
    folder = write_harbor(tmp_path / "made", task_o_toml=config, environment__Dockerfile="FROM x/y\nRUN sh make.sh\n")
    ran = evolve("corpus", "import", "harbor", str(folder))
    assert ran.code == 0 and "note  made: reference/good is missing, and evolve check will demand it" in ran.out
    task = load_task(workspace / "corpus/made")
    assert [command.argv for command in task.task.setup] == [("sh", "make.sh")]
    assert "reference/good is missing" in (workspace / "corpus/made/task.yaml").read_text()


def test_a_task_that_declares_its_verifier_is_imported_whatever_its_test_script_fetches(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    config = CONFIG + '[metadata.evolve]\nsetup = []\nverify = ["python3", "/tests/check.py"]\n'
    folder = write_harbor(
        tmp_path / "declared",
        task_o_toml=config,
        environment__Dockerfile="FROM ubuntu\nRUN apt-get update\n",
        tests__test_o_sh="curl -LsSf https://example.org | sh\n",
    )
    assert evolve("corpus", "import", "harbor", str(folder)).code == 0
    task = load_task(workspace / "corpus/declared")
    assert (task.task.setup, dict(task.good.texts())) == ((), {"sorted.txt": "a\nb\nc\n"})
    assert check_task(task, choose_sandbox()) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task_o_toml": None}, "task.toml: no such file"),
        ({"task_o_toml": "[agent"}, "task.toml: not TOML"),
        ({"task_o_toml": "a = " + "[" * 5000}, "task.toml: n"),
        ({"task_o_toml": b"\xff"}, "task.toml: not UTF-8"),
        ({"task_o_toml": "x = 0x" + "f" * 9000}, "task.toml: not TOML"),
        ({"task_o_toml": CONFIG + "[agents]\nx = 1\n"}, "task.toml: agents: unknown key; did you mean agent?"),
        ({"task_o_toml": "[agent]\ntimeout_sec = -1\n"}, "task.toml: agent.timeout_sec: "),
        ({"task_o_toml": "[agent]\ntimeout_sec = nan\n"}, "task.toml: agent.timeout_sec: "),
        ({"task_o_toml": "[verifier]\ntimeout_sec = 99999\n"}, "task.toml: verifier.timeout_sec: "),
        ({"task_o_toml": '[verifier.env]\nKEY = "${KEY}"\n'}, "task.toml: verifier.env.KEY: is taken from the host"),
        ({"task_o_toml": '[environment]\ndocker_image = "x"\n'}, "task.toml: environment.docker_image: needs"),
        ({"task_o_toml": "[metadata.evolve]\nverify = []\n"}, "task.toml: metadata.evolve: a command"),
        ({"task_o_toml": "[metadata.evolve]\nsetup = [[]]\n"}, "task.toml: metadata.evolve: a command"),
        ({"task_o_toml": "metadata = 1\n"}, "task.toml: metadata: must be a table"),
        ({"task_o_toml": "[environment]\ngpus = 1\n"}, "task.toml: environment.gpus: needs a container"),
        ({"task_o_toml": "[[steps]]\nname = 'a'\n"}, "task.toml: steps: unknown key"),
        ({"instruction_o_md": None}, "instruction.md: no such file"),
        ({"instruction_o_md": " \n"}, "instruction.md: is empty"),
        ({"instruction_o_md": b"\xff\xfe"}, "instruction.md: not UTF-8"),
        ({"instruction_o_md": "x" * 70_000}, "prompt: "),
        ({"tests__test_o_sh": None}, "tests/test.sh: no such file"),
        ({"tests__test_o_sh": "set -e\napt-get install -y curl\n"}, "tests/test.sh:2: apt-get needs the network"),
        ({"environment__docker-compose_o_yaml": ""}, "environment/docker-compose.yaml: needs containers"),
        ({"environment___o_dockerignore": ""}, "environment/.dockerignore: is not read"),
        ({"environment__Dockerfile": "WORKDIR /app\n"}, "environment/Dockerfile: has no FROM"),
        ({"environment__Dockerfile": "FROM alpine\n"}, "environment/Dockerfile:1: FROM alpine: neither"),
        ({"environment__Dockerfile": "FROM python\n"}, "environment/Dockerfile: sets no WORKDIR"),
        ({"environment__Dockerfile": "FROM python\nFROM python\n"}, "environment/Dockerfile:2: FROM: a second"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /a\nCOPY names.txt /b/\n"}, ":3: COPY to /b/names.txt"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /a\nCOPY no.txt .\n"}, "environment/no.txt: no such file"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /a\nCOPY ../x .\n"}, ":3: COPY ../x: only plain paths"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /a\nCOPY * .\n"}, ":3: COPY *: only plain paths"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /a\nCOPY --from=x a .\n"}, "only plain sources"),
        ({"environment__Dockerfile": 'FROM python\nWORKDIR /a\nCOPY ["a", 1]\n'}, "not a list of paths"),
        ({"environment__Dockerfile": "FROM python\nWORKDIR /etc\n"}, "'/etc' cannot be the work"),
        ({"environment__.git/config": ""}, "is not a path inside the folder"),
        ({"environment__NAMES.txt": ""}, "are one name on some file systems"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_file_and_field_and_nothing_is_written(
    workspace: Path, tmp_path: Path, evolve: CommandLine, changes: dict[str, str | bytes | None], reason: str
) -> None:
    before = corpus_of(workspace)
    ran = evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "one", **changes)))
    assert ran.code == 2
    assert reason in ran.err
    assert corpus_of(workspace) == before


def test_links_and_pipes_and_too_much_are_refused(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    before = corpus_of(workspace)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for name, link in {"absolute": str(secret), "climbing": "../../../secret", "inner": "names.txt"}.items():
        (write_harbor(tmp_path / "hostile" / name) / "environment/odd").symlink_to(link)
    os.mkfifo(write_harbor(tmp_path / "hostile/pipe") / "environment/odd")
    with (write_harbor(tmp_path / "hostile/huge") / "environment/odd").open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    (tmp_path / "hostile" / "folder-link").symlink_to(tmp_path)
    ran = evolve("corpus", "import", "harbor", str(tmp_path / "hostile"))
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 7
    assert corpus_of(workspace) == before
    assert evolve("corpus", "import", "harbor", str(tmp_path / "none")).code == 2
    assert evolve("corpus", "import", "harbor", str(write_files(tmp_path / "empty", {"a": ""}))).code == 2


@pytest.mark.parametrize(
    ("solution", "note"),
    [
        (None, "there is no solution/solve.sh"),
        ("exit 3\n", "solution/solve.sh: exit 3"),
        ("true\n", "changes no file of the working folder"),
        ("rm /app/names.txt\n", "removes files, or makes links: names.txt"),
        ("ln -s /etc/passwd /app/sorted.txt\n", "removes files, or makes links: sorted.txt"),
        ("head -c 3000000 /dev/urandom > /app/sorted.txt\n", "more than can be read back"),
    ],
)
def test_a_solution_that_gives_no_files_leaves_a_note(
    workspace: Path, tmp_path: Path, evolve: CommandLine, solution: str | None, note: str
) -> None:
    ran = evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "one", solution__solve_o_sh=solution)))
    assert ran.code == 0, ran.err
    assert note in ran.out
    assert evolve("check").code == 2


def test_a_solution_cannot_touch_the_host(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    mark = tmp_path / "mark"
    solve = f"touch {mark}; test -e {tmp_path} && echo seen > /app/seen; sort /app/names.txt > /app/sorted.txt\n"
    assert (
        evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "one", solution__solve_o_sh=solve))).code == 0
    )
    assert not mark.exists()
    assert sorted(load_task(workspace / "corpus/one").good.files) == ["sorted.txt"]


def test_a_task_without_files_or_container_begins_with_an_empty_folder(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    files: dict[str, str | bytes | None] = {
        "environment__Dockerfile": None,
        "environment__names_o_txt": None,
        "environment__data/more.txt": None,
        "instruction_o_md": "Write hello to hello.txt",
        "tests__check_o_py": None,
        "tests__test_o_sh": 'grep -qx hello hello.txt && echo \'{"a": 1, "b": 1.0}\' > /logs/verifier/reward.json\n',
        "solution__solve_o_sh": "echo hello > hello.txt\n",
    }
    assert evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "one", **files))).code == 0
    task = load_task(workspace / "corpus/one")
    assert sorted(task.seed.files) == [".keep"]
    assert task.task.prompt == "Write hello to hello.txt"
    assert check_task(task, choose_sandbox()) == []


@pytest.mark.parametrize(
    ("name", "content", "passes"),
    [
        ("reward.txt", "1", True),
        ("reward.txt", " 1.0\n", True),
        ("reward.txt", "0.99", False),
        ("reward.txt", "nan", False),
        ("reward.txt", "yes", False),
        ("reward.txt", "1" * 70_000, False),
        ("reward.json", '{"reward": 1, "other": 0}', True),
        ("reward.json", '{"a": 1, "b": 0.5}', False),
        ("reward.json", '{"a": true}', False),
        ("reward.json", "{}", False),
        ("reward.json", "1", True),
        ("reward.json", "[", False),
        ("other.txt", "1", False),
    ],
)
def test_only_a_whole_reward_passes(tmp_path: Path, name: str, content: str, passes: bool) -> None:
    write_files(tmp_path, {name: content})
    assert container_script.rewarded(tmp_path) is passes


def test_paths_of_a_container_are_led_elsewhere_in_scripts_alone(tmp_path: Path) -> None:
    text = "cd /app; cat /app/x /application ./tests /tests/y http://h/app '/logs/verifier'"
    write_files(tmp_path, {"a.sh": text, "a.txt": text, "b.py": b"\xff/app"})
    container_script.redirect(tmp_path, {"/app": "/w", "/tests": "/t", "/logs": "/l"})
    assert (tmp_path / "a.sh").read_text() == "cd /w; cat /w/x /application ./tests /t/y http://h/app '/l/verifier'"
    assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.py").read_bytes()) == (text, b"\xff/app")


def test_the_skill_must_be_said_where_there_are_several(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    write_files(workspace / "skills/other", {"SKILL.md": "---\nname: other\ndescription: Another one.\n---\n\nBe.\n"})
    ran = evolve("corpus", "import", "harbor", str(write_harbor(tmp_path / "one")), "--json")
    assert (ran.code, ran.json()["error"]["hint"]) == (2, "skills here: bracket, other")
    assert json.loads(ran.out)["error"]["code"] == "no-skill"
