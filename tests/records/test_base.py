"""What all file formats share."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pydantic
import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.records.base import (
    Digest,
    Identifier,
    Record,
    Timestamp,
    field_path,
    jsonl_bytes,
    parse_json,
    parse_record,
    parse_yaml,
    read_json,
    read_jsonl,
    read_text,
    read_yaml,
    require_schema,
    write_json,
)
from evolve.records.policy import Policy
from evolve.records.workspace import WorkspaceSpec
from tests.builders import write_files


class Inner(Record):
    rule: str = "r"


class Sample(Record):
    id: Identifier
    number: float = 0
    kind: Literal["a", "b"] = "a"
    inner: tuple[Inner, ...] = ()
    at: Timestamp | None = None
    digest_: Digest | None = None


def test_a_record_is_frozen() -> None:
    with pytest.raises(pydantic.ValidationError):
        setattr(Sample(id="a"), "number", 2)  # noqa: B010


def test_a_record_writes_canonical_json_and_reads_it_back(tmp_path: Path) -> None:
    sample = Sample(id="a", number=1.0, inner=(Inner(rule="ä"),), at=datetime(2026, 1, 31, 12, tzinfo=UTC))
    write_json(tmp_path / "s.json", sample)
    text = '{"at":"2026-01-31T12:00:00Z","digest_":null,"id":"a","inner":[{"rule":"ä"}],"kind":"a","number":1}\n'
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == text
    assert read_json(Sample, tmp_path / "s.json") == sample
    assert Sample(id="a").digest() != sample.digest() == read_json(Sample, tmp_path / "s.json").digest()


@pytest.mark.parametrize("time", ["2026-01-31T13:00:00+01:00", "2026-01-31T12:00:00Z", "2026-01-31T07:00:00-05:00"])
def test_one_moment_has_one_spelling_whatever_its_zone(time: str) -> None:
    assert Sample.model_validate({"id": "a", "at": time}).json_value()["at"] == "2026-01-31T12:00:00Z"


def test_lines_are_read_back_one_record_a_line(tmp_path: Path) -> None:
    samples = (Sample(id="a"), Sample(id="b", number=2))
    (tmp_path / "s.jsonl").write_bytes(jsonl_bytes(samples))
    assert tuple(read_jsonl(Sample, tmp_path / "s.jsonl")) == samples


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"id":"b","x":1}', b'{"id":"\xff"}', b'{"id":"b","number":NaN}'])
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"id":"a"}\n' + line + b'\n{"id":"c"}\n')
    with pytest.raises(InputError) as caught:
        list(read_jsonl(Sample, tmp_path / "s.jsonl"))
    assert caught.value.message.startswith(f"{tmp_path}/s.jsonl:2: ")


def test_a_missing_lines_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        list(read_jsonl(Sample, tmp_path / "none.jsonl"))
    assert caught.value.code == "missing-file"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "id: is missing"),
        ({"id": "A"}, "id: String should match pattern"),
        ({"id": "a--b"}, "id: String should match pattern"),
        ({"id": "a\n"}, "id: String should match pattern"),
        ({"id": "../a"}, "id: String should match pattern"),
        ({"id": "a" * 65}, "id: String should have at most 64"),
        ({"id": 5}, "id: must be text; put it in quotes"),
        ({"id": "a", "number": "many"}, "number: Input should be a valid number"),
        ({"id": "a", "number": float("inf")}, "number: Input should be a finite number"),
        ({"id": "a", "kind": "c"}, "kind: Input should be 'a' or 'b'"),
        ({"id": "a", "more": 1}, "more: unknown key"),
        ({"id": "a", "inner": [{}, {"rule": None}]}, "inner[1].rule: must be text; put it in quotes"),
        ({"id": "a", "inner": {}}, "inner: must be a list"),
        ({"id": "a", "at": "2026-01-31T12:00:00"}, "at: a time needs its zone"),
        ({"id": "a", "digest_": "F" * 64}, "digest_: String should match pattern"),
        ([], "(whole file): "),
        (None, "(whole file): "),
        ("text", "(whole file): "),
    ],
)
def test_an_invalid_value_is_named_by_file_and_field(value: object, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_record(Sample, value, "s.yaml")
    assert caught.value.message.startswith(f"s.yaml: {says}")


def test_each_fault_has_a_line_of_its_own_up_to_eight() -> None:
    with pytest.raises(InputError) as caught:
        parse_record(Sample, {f"x{number}": 1 for number in range(20)}, "s.yaml")
    assert len(caught.value.message.splitlines()) == 8


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff", "not UTF-8 (byte 0)"),
        (b"ok \xc3\x28", "not UTF-8 (byte 3)"),
        (b"\xef\xbb\xbfid: a", "a byte order mark or a NUL"),
        (b"id: a\0", "a byte order mark or a NUL"),
        (b"\xff\xfei\0d\0", "not UTF-8"),
    ],
)
def test_a_file_that_is_not_plain_utf8_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    path = write_files(tmp_path, {"s.yaml": data}) / "s.yaml"
    for read in (read_yaml, read_json):
        with pytest.raises(InputError) as caught:
            read(Sample, path)
        assert caught.value.message.startswith(f"{path}: ")
        assert says in caught.value.message


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError) as caught:
            read_text(path)
        assert caught.value.code == "unreadable"
    with pytest.raises(InputError) as caught:
        read_text(tmp_path / "none")
    assert caught.value.code == "missing-file"
    with pytest.raises(InputError) as caught:
        read_text(write_files(tmp_path, {"file": ""}) / "file" / "below")
    assert caught.value.code == "unreadable"


def test_a_file_beyond_the_cap_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "s.yaml").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError) as caught:
        read_yaml(Sample, tmp_path / "s.yaml")
    assert caught.value.code == "too-large"
    assert read_text(write_files(tmp_path, {"a": "12345"}) / "a", max_bytes=5) == "12345"
    with pytest.raises(InputError):
        read_text(tmp_path / "a", max_bytes=4)


@pytest.mark.parametrize("data", [b"", b"{", b'{"id":"a"} x', b"\xff", b'{"id":"\\ud800"}', b"[" * 100_000])
def test_json_that_is_not_json_is_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(Sample, data, "s.json")
    assert caught.value.message.startswith("s.json: ")


@pytest.mark.parametrize(
    ("location", "path"), [((), "(whole file)"), (("a",), "a"), (("a", 0, "b", "c"), "a[0].b.c"), ((3, "x"), "[3].x")]
)
def test_a_location_is_rendered_like_a_path(location: tuple[int | str, ...], path: str) -> None:
    assert field_path(location) == path


def test_another_schema_is_the_environments_fault(tmp_path: Path) -> None:
    require_schema(tmp_path, "evolve/plan@1", "evolve/plan@1")
    with pytest.raises(EnvironmentFault, match="evolve/plan@2"):
        require_schema(tmp_path, "evolve/plan@2", "evolve/plan@1")


@pytest.mark.parametrize("line", ["min_runs: true", 'min_runs: "3"', "min_runs: 3.0", "alpha: yes", "canaries: [1]"])
def test_a_value_of_another_type_is_not_bent_into_shape(tmp_path: Path, line: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"schema: evolve/policy@1\n{line}\n")
    with pytest.raises(InputError, match=rf"policy.yaml:2: {line.partition(':')[0]}"):
        read_yaml(Policy, path)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("{adapter: caht, model: m}", "agent: adapter 'caht': neither chat nor a program, which has binary, version"),
        ("{adapter: chat, model: m, adaptor: x}", "agent.adaptor: unknown key"),
        ("{adapter: chat, model: m, temperature: hot}", "agent.temperature: "),
    ],
)
def test_a_fault_is_told_by_its_place_in_the_file_and_in_plain_words(agent: str, said: str) -> None:
    text = f"""\
schema: evolve/workspace@1
models:
  m: {{kind: openai-compatible, base_url: "http://127.0.0.1:9", model: m}}
agent: {agent}
proposer: {{model: m}}
"""
    with pytest.raises(InputError) as caught:
        parse_yaml(WorkspaceSpec, text, "evolve.yaml")
    assert f"evolve.yaml:4: {said}" in caught.value.message
    with pytest.raises(InputError, match=r"models\.m\.base_url: must begin with http:// or https://"):
        parse_yaml(WorkspaceSpec, text.replace("http://127.0.0.1:9", "localhost"), "evolve.yaml")
