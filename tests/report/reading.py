"""Reading a page as a browser does, strictly: what must hold of every page is asserted on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = frozenset({"meta", "input", "link", "br", "hr", "img"})
LOADING = frozenset({"src", "href", "srcset", "data", "action", "formaction", "poster", "background", "ping", "cite"})
LEADING = frozenset({"a", "form"})
BESIDE = re.compile(r"(?:\.\./)*[A-Za-z0-9._/-]+")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    texts: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]
        self.all: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"{tag}: an attribute is there twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        self.all.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read_page(data: bytes, *, leads: bool = False) -> Reader:
    """Return a page as elements, after checking what holds of every page.

    Args:
        data: The page.
        leads: Whether it may have links to pages beside it.

    """
    reader = Reader()
    reader.feed(data.decode("utf-8"))
    reader.close()
    assert reader.open == [reader.root], "every tag is closed"
    check_loads_nothing(reader, leads=leads)
    check_structure(reader)
    return reader


def check_loads_nothing(reader: Reader, *, leads: bool) -> None:
    assert not {element.name for element in reader.all} & {"link", "img", "iframe", "object", "embed", "base", "image"}
    for element in reader.all:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"{element.name} {name}"
            inside = value.startswith(("#", "data:"))
            beside = leads and element.name in LEADING and BESIDE.fullmatch(value) is not None
            assert name not in LOADING or inside or beside, f"{element.name} {name}={value[:80]}"
            assert "url(" not in value.replace("url(#", ""), value[:80]
    assert len(named(reader, "script")) == 1


def check_structure(reader: Reader) -> None:
    ids = [element.attributes["id"] for element in reader.all if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in reader.all:
        for name in ("href", "aria-labelledby", "for", "data-for"):
            for target in element.attributes.get(name, "").split():
                assert target.removeprefix("#") in ids or not leads_here(name, target), (
                    f"{element.name} {name}={target}"
                )
    levels = [HEADINGS.index(element.name) for element in reader.all if element.name in HEADINGS]
    assert levels[0] == 0 and levels.count(0) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in named(reader, "table"):
        assert table.children[0].name == "caption" and table.children[0].text.strip()
    for head in named(reader, "th"):
        assert head.attributes.get("scope") in ("col", "row", "colgroup") and head.text.strip()
    assert len(named(reader, "main")) == 1
    for box in named(reader, "input"):
        assert any(label.attributes["for"] == box.attributes["id"] for label in named(reader, "label"))
    for plot in named(reader, "svg"):
        assert plot.attributes["role"] == "img" and [child.name for child in plot.children[:2]] == ["title", "desc"]


def leads_here(name: str, target: str) -> bool:
    return name != "href" or target.startswith("#")


def named(reader: Reader, name: str) -> list[Element]:
    return [element for element in reader.all if element.name == name]


def by_id(reader: Reader, identifier: str) -> Element:
    return next(element for element in reader.all if element.attributes.get("id") == identifier)
