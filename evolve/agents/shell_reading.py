"""What a shell command does, as far as its text tells: it reads, it searches, or it may change anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from posixpath import join

from evolve.agents.transcript_events import EventKind, path_of

_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh"})
_READERS = frozenset({"cat", "head", "tail", "nl", "sed"})
_SEARCHERS = frozenset({"rg", "grep", "egrep", "fgrep", "find", "fd", "ls", "tree"})
_FILTERS = frozenset({"sort", "wc", "cut", "tr"})
_LOOKS = frozenset({"pwd", "wc", "stat", "cd", "true"})
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "blame", "ls-files"})
_PATTERN_FIRST = frozenset({"rg", "grep", "egrep", "fgrep", "fd"})
# Any of these makes a look a change: find's actions, sed's in-place, rg's preprocessor, git's output file.
_CHANGES = re.compile(r"^(-exec(dir)?|-ok(dir)?|-delete|-fprint\w*|-fls|--in-place.*|--pre(=.*)?|--output(=.*)?)$")
_SED_RANGE = re.compile(r"^(\d{1,9})(?:,(\d{1,9}))?p$")
_HARMLESS = re.compile(r"\s*2>\s*(?:/dev/null|&1)|\s*>\s*/dev/null")
_JOINTS = frozenset({"|", "||", "&&", ";"})
_SIGNS = frozenset("|&;()")
# Options of searchers whose value is a word of its own.
_VALUED = frozenset(
    {"-A", "-B", "-C", "-e", "-f", "-g", "-m", "-t", "--glob", "--max-count", "--max-depth", "--regexp", "--type"}
)
# Options by which a program that looks writes or runs something after all.
_WRITES = {"fd": ("-x", "-X", "--exec"), "sort": ("-o",), "tree": ("-o",)}


@dataclass(frozen=True)
class Reading:
    """What a command does, and to what."""

    kind: EventKind
    path: str | None = None
    first_line: int | None = None
    last_line: int | None = None


CHANGING = Reading(EventKind.COMMAND)


def unwrapped(command: str) -> str:
    """Return the script that a command hands to a shell, else the command itself."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    return command


def read_command(command: str) -> Reading:
    """Return what a command does; what is not surely a look may change anything."""
    script = _HARMLESS.sub("", unwrapped(command))
    if len(script) > 4096 or any(sign in script for sign in ("$(", "`", "<", ">", "\n")):
        return CHANGING
    try:
        lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return CHANGING
    if any(word not in _JOINTS and word and set(word) <= _SIGNS for word in words):  # subshells, the background
        return CHANGING
    return _together_of(_parts(words))


def _together_of(parts: Sequence[tuple[str, list[str]]]) -> Reading:
    readings: list[Reading] = []
    folder = ""
    for joint, part in parts:
        piped = joint == "|" and bool(readings)
        reading = _read_part(part, piped=piped)
        if reading is None:
            return CHANGING
        if piped:
            readings[-1] = _narrowed(readings[-1], part[0], reading)
        elif part[0] == "cd":
            folder = join(folder, part[1]) if len(part) == 2 else folder
        elif part[0] != "true":
            readings.append(replace(reading, path=path_of(join(folder, reading.path))) if reading.path else reading)
    return _together(readings)


def _narrowed(whole: Reading, name: str, filtered: Reading) -> Reading:
    """Return what is left of a file that is read through a filter of lines."""
    if whole.kind is not EventKind.READ or name not in _READERS:
        return whole
    return replace(whole, first_line=filtered.first_line, last_line=filtered.last_line)


def _parts(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the simple commands, each with the joint before it."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word in _JOINTS:
            parts.append((word, []))
        else:
            parts[-1][1].append(word)
    return [(joint, part) for joint, part in parts if part]


def _together(readings: list[Reading]) -> Reading:
    """Return what looks one after the other are: one of them alone is told exactly."""
    if not readings:
        return CHANGING
    if len(readings) == 1:
        return readings[0]
    searches = any(one.kind is EventKind.SEARCH for one in readings)
    return Reading(EventKind.SEARCH if searches else EventKind.READ)


def _read_part(part: list[str], *, piped: bool) -> Reading | None:
    """Return what a simple command looks at; ``None`` when it may change something."""
    name, args = part[0].rsplit("/", 1)[-1], part[1:]
    if any(_CHANGES.match(arg) or arg.startswith(_WRITES.get(name, ("\0",))) for arg in args):
        return None
    if name == "git":
        return Reading(EventKind.READ) if args and args[0] in _GIT_LOOKS else None
    if name in _SEARCHERS:
        return _search(name, args)
    if name in _READERS:
        return _read(name, args)
    if name in _LOOKS or (piped and name in _FILTERS):
        return Reading(EventKind.READ)
    return None


def _search(name: str, args: list[str]) -> Reading:
    if name == "find":  # its places stand before its first test
        places = args[: next((number for number, arg in enumerate(args) if arg.startswith("-")), len(args))]
    else:
        valued = _VALUED if name in _PATTERN_FIRST else frozenset()
        befores = ["", *args]
        places = [arg for before, arg in zip(befores, args, strict=False) if arg[:1] != "-" and before not in valued]
        given = any(arg.startswith(("-e", "--regexp", "-f", "--files", "--file=")) for arg in args)
        places = places[1:] if name in _PATTERN_FIRST and not given else places
    return Reading(EventKind.SEARCH, path_of(" ".join(sorted(places))) if places else ".")


def _read(name: str, args: list[str]) -> Reading | None:
    plain = [arg for arg in args if not arg.startswith("-")]
    if name == "sed":
        return _read_sed(args, plain)
    first, last = (None if name == "tail" else 1), None
    for number, arg in enumerate(args):
        count = args[number + 1] if arg == "-n" and number + 1 < len(args) else arg.removeprefix("-n").lstrip("-")
        if name == "head" and arg.startswith("-") and count.isascii() and count.isdigit() and len(count) < 10:
            last = int(count)
            plain = [one for one in plain if one != count]
        elif name == "tail" and arg == "-n":
            plain = [one for one in plain if one != count]
    if len(plain) != 1:  # several files at once, or its input
        return Reading(EventKind.READ)
    return Reading(EventKind.READ, path_of(plain[0]), first, last)


def _read_sed(args: list[str], plain: list[str]) -> Reading | None:
    """Return what ``sed -n A,Bp FILE`` reads; any other program of sed may write."""
    options = [arg for arg in args if arg.startswith("-")]
    found = _SED_RANGE.match(plain[0]) if plain else None
    if options != ["-n"] or found is None or len(plain) > 2:
        return None
    first = int(found[1])
    return Reading(EventKind.READ, path_of(plain[1]) if len(plain) == 2 else None, first, int(found[2] or first))
