"""Any other program, as ``evolve.yaml`` describes it: its command, its environment, and how its output is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.agents.adapter import Ask, Treatment
from evolve.agents.heard import Heard
from evolve.hostile import as_count
from evolve.records.agent import CommandSpec, several
from evolve.sandbox.box import HOME, PROMPT, WORK
from evolve.sandbox.gateway.meter import Tokens

INSTALL = "/opt/agent"


@dataclass(frozen=True)
class Command:
    """How a described program is asked, and how its answer is read."""

    spec: CommandSpec
    install: Path
    name = "command"
    proves_skill_use = False
    executable = "/opt/agent-program"

    def unfit(self) -> str | None:
        """Return what of the declaration cannot be kept."""
        spec = self.spec
        given = [name for name in ("tools", "max_turns", "effort") if getattr(spec, name) is not None]
        given += [name for name in ("denied_tools", "mcp", "plugins") if getattr(spec, name)]
        if given:
            return f"{given[0]}: say it in agent.command or home_files, which evolve does not understand"
        if spec.delivery == "plugin":
            return "delivery: plugins are not known for a described program; skill or append"
        places = [*spec.command, *spec.env.values(), *spec.home_files.values()]
        if (spec.append or self.pastes_skills) and not any("{append}" in text for text in places):
            field = "append" if spec.append else "delivery"
            return f"{field}: {{append}} stands nowhere in command, env or home_files, so that it would be lost"
        return None

    @property
    def pastes_skills(self) -> bool:
        """Whether skills are pasted into the system prompt."""
        return self.spec.delivery == "append"

    def refuses(self, work: Path) -> str | None:
        """Refuse no task: what the program loads of a workspace is not known."""
        return None

    def argv(self, ask: Ask) -> tuple[str, ...]:
        """Return the command, its placeholders filled in; the prompt also comes on standard input."""
        return tuple(self._fill(part, replace(ask, token="")) for part in self.spec.command)

    def env(self, ask: Ask) -> Mapping[str, str]:
        """Return the environment that was declared, its placeholders filled in."""
        return {name: self._fill(value, ask) for name, value in self.spec.env.items()}

    def _fill(self, text: str, ask: Ask) -> str:
        at = ask.places.at
        known = {
            "install": at(INSTALL),
            "gateway": ask.places.gateway,
            "model": self.spec.model,
            "token": ask.token,
            "work": at(WORK),
            "home": at(HOME),
            "prompt_file": at(PROMPT),
            "append": ask.appended,
        }
        return re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], match[0]), text)

    def treat(self, ask: Ask, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Mount the program's folder, and the skills where the program looks for them, both read-only."""
        for name, text in self.spec.home_files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._fill(text, _for_file(name, ask)), encoding="utf-8")
        mounts = {INSTALL: self.install}
        return Treatment(mounts if self.pastes_skills else {**mounts, f"{HOME}/{self.spec.skills_path}": skills})

    def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read reply and usage as declared; an output without a reply is an unfinished session."""
        text = output.decode("utf-8", errors="replace")
        objects = json_values(text) if self.spec.output == "json" else []
        reply = self._reply(text, objects)
        tokens = self._tokens(text, objects)
        return Heard(started=bool(text), finished=reply is not None, reply=reply or "", tokens=tokens)

    def _reply(self, text: str, objects: list[Any]) -> str | None:
        if self.spec.output == "json":
            found = last_at(objects, self.spec.reply) if self.spec.reply else None
            return found if isinstance(found, str) else None
        if self.spec.reply is None:
            return text.strip() or None
        matches = re.findall(self.spec.reply, text, re.DOTALL)
        last = matches[-1] if matches else None
        return last if isinstance(last, str) or last is None else last[0]

    def _tokens(self, text: str, objects: list[Any]) -> Tokens | None:
        usage = self.spec.usage
        if usage is None:
            return None
        told = [self._figure(text, objects, several(one)) for one in (usage.input, usage.cached, usage.output)]
        if told[0] is None or told[2] is None:
            return None
        return Tokens(input=told[0], cached=told[1] or 0, output=told[2])

    def _figure(self, text: str, objects: list[Any], places: tuple[str, ...]) -> int | None:
        """Add up what stands at the places of one figure; ``None`` where none of them says anything."""
        every = self.spec.usage is not None and self.spec.usage.sum
        found: list[int] = []
        for place in places:
            groups = numbers_at(objects, place) if self.spec.output == "json" else numbers_in(text, place)
            found += [number for group in (groups if every else groups[-1:]) for number in group]
        return as_count(sum(found)) if found else None


def _for_file(name: str, ask: Ask) -> Ask:
    """Return what a file of the home may hold: no token, and appended text that its format can take."""
    quoted = name.endswith((".json", ".toml", ".yaml", ".yml"))
    text = json.dumps(ask.appended, ensure_ascii=False)[1:-1] if quoted else ask.appended
    return replace(ask, token="", appended=text)


def json_values(text: str) -> list[Any]:
    """Return the JSON values of an output: one as a whole, or one a line; other lines are passed over."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        pass
    found = []
    for line in text.split("\n"):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return found


def last_at(values: list[Any], pointer: str | None) -> Any:
    """Return what a JSON pointer finds in the last value that has it.

    RFC 6901, and in a list ``-1`` is the last one, and ``*`` all of a list or object, of which the last one is taken.
    """
    for value in reversed(values):
        found = _at(value, pointer or "")
        if found:
            return found[-1]
    return None


def numbers_at(values: list[Any], pointer: str) -> list[list[int]]:
    """Return the whole numbers that a pointer finds in each value that has any."""
    found = ([number for one in _at(value, pointer) if (number := as_count(one)) is not None] for value in values)
    return [numbers for numbers in found if numbers]


def numbers_in(text: str, pattern: str) -> list[list[int]]:
    """Return the whole number of each match of a pattern, in its first group; commas may part its digits."""
    told = (match[1] or "" for match in re.finditer(pattern, text))
    return [[int(one.replace(",", ""))] for one in told if re.fullmatch(r"[0-9][0-9,]{0,17}", one)]


def _at(value: Any, pointer: str) -> list[Any]:
    """Return what a pointer finds in a value, ``null`` being nothing; ``*`` finds everything in a list or an object."""
    found = [value]
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = [inner for one in found for inner in _inside(one, key)]
    return [one for one in found if one is not None]


def _inside(value: Any, key: str) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if key == "*" else [value.get(key)]
    if not isinstance(value, list):
        return []
    if key == "*":
        return value
    known = re.fullmatch(r"-?\d{1,9}", key) and -len(value) <= int(key) < len(value)
    return [value[int(key)]] if known else []
