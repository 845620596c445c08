"""Reading YAML from untrusted files: plain data only, with the line of every field."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import yaml

from evolve.errors import InputError

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 40
# YAML 1.1 takes a number with an exponent and no point for text.
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")


@dataclass(frozen=True)
class YamlSource:
    """A parsed YAML document and the line of each of its fields."""

    value: Any
    lines: dict[tuple[int | str, ...], int]

    @classmethod
    def parse(cls, text: str, where: str) -> YamlSource:
        """Parse one YAML document.

        Raises:
            InputError: It is not YAML, uses anchors, aliases, tags, duplicate or non-text keys, or holds values
                that JSON has not.

        """
        lines: dict[tuple[int | str, ...], int] = {}
        try:
            _refuse_events(text, where)
            loader = _Loader(text)
            try:
                node = loader.get_single_node()
                value = None if node is None else _construct(loader, node, (), lines, where)
            finally:
                loader.dispose()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = f":{mark.line + 1}" if mark else ""
            raise InputError(f"{where}{line}: not YAML: {error.problem or error.context}", code="not-yaml") from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(f"{where}: not YAML: {error}", code="not-yaml") from error
        return cls(value=value, lines=lines)

    def path_of(self, location: tuple[int | str, ...], *, absent: bool) -> tuple[int | str, ...]:
        """Return where in the document a field is, or would be: without the names of variants, which are nowhere.

        Args:
            location: Where the fault is, as the format tells it.
            absent: Whether the fault is that the field is not there.

        """
        known: tuple[int | str, ...] = ()
        for number, part in enumerate(location, start=1):
            if (*known, part) in self.lines or (absent and number == len(location)):
                known = (*known, part)
        return known

    def line_of(self, location: tuple[int | str, ...]) -> int | None:
        """Return the line of a field, or of its nearest known parent; 1-based.

        Parts that the document does not have, such as the name of a variant, are passed over.
        """
        known: tuple[int | str, ...] = ()
        for part in location:
            if (*known, part) in self.lines:
                known = (*known, part)
        return self.lines.get(known)


def _refuse_events(text: str, where: str) -> None:
    """Refuse anchors, tags and deep nesting while streaming, before anything is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InputError(f"{where}:{line}: anchors and aliases are not allowed", code="yaml-alias")
        if getattr(event, "tag", None):
            raise InputError(f"{where}:{line}: tags are not allowed", code="yaml-tag")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InputError(f"{where}:{line}: nested more than {MAX_DEPTH} deep", code="yaml-depth")


def _construct(
    loader: Any,
    node: yaml.Node,
    path: tuple[int | str, ...],
    lines: dict[tuple[int | str, ...], int],
    where: str,
) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError(f"{where}:{line}: a key must be text", code="yaml-key")
            key = str(key_node.value)
            if key in mapping:
                raise InputError(f"{where}:{line}: the key {key!r} stands twice", code="duplicate-key")
            mapping[key] = _construct(loader, value_node, (*path, key), lines, where)
            lines[(*path, key)] = line
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, item, (*path, index), lines, where) for index, item in enumerate(node.value)]
    value = loader.construct_object(node)
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{where}:{lines[path]}: holds a NUL", code="yaml-value")
    if isinstance(value, str) and not getattr(node, "style", None) and _EXPONENT.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where}:{lines[path]}: {value} is no number that JSON has", code="yaml-value")
    if not isinstance(value, str | int | float | None):
        raise InputError(f"{where}:{lines[path]}: {node.value!r} is read as a date; quote it", code="yaml-value")
    return value
