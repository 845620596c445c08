"""What doctor says of the key that evidence is signed with, and of the signatures that a policy demands."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE, SigningKey, new_key
from tests.conftest import CommandLine, Ran
from tests.promote.test_signed import demand

POLICY = "promotion/policy.yaml"


@pytest.fixture
def keys(tmp_path: Path) -> tuple[SigningKey, ...]:
    (tmp_path / "keys").mkdir()
    return tuple(new_key(tmp_path / f"keys/{number}.pem") for number in range(2))


def shown(ran: Ran) -> list[str]:
    """Return the lines about signing, and the remedies below them."""
    lines = ran.out.splitlines()
    starts = [number for number, line in enumerate(lines) if line[6:].startswith(("signing key", "signatures"))]
    found = []
    for number in starts:
        found.append(lines[number])
        found += [line.strip() for line in lines[number + 1 : number + 2] if line.startswith(" ")]
    return found


def test_without_key_and_demand_all_is_well(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("doctor")
    assert (ran.code, shown(ran)) == (
        0,
        ["ok    signing key: none; evidence is written unsigned (evolve key new makes one)"],
    )


def test_signatures_that_nobody_here_can_make_are_warned_of_with_a_remedy(
    workspace: Path, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    demand(workspace, 1, *keys)
    ran = evolve("doctor")
    assert (ran.code, shown(ran)[1:]) == (
        0,
        [
            "warn  signatures: 1 required, of 2 trusted keys; 0 can be made here",
            f"try: export {KEY_FILE_VARIABLE}=FILE of a trusted key; or evolve sign EVIDENCE before it is promoted, "
            "with another of these keys",
        ],
    )


@pytest.mark.parametrize("variable", [KEY_FILE_VARIABLE, KEY_VARIABLE])
def test_a_key_is_named_by_its_public_half_and_whether_the_policy_trusts_it(
    workspace: Path,
    evolve: CommandLine,
    keys: tuple[SigningKey, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
) -> None:
    path = tmp_path / "keys/0.pem"
    pem = path.read_text()
    monkeypatch.setenv(variable, str(path) if variable == KEY_FILE_VARIABLE else pem)
    unknown = f"usable; {POLICY} does not trust its public key {keys[0].public_text}"
    trusted = f"usable; {POLICY} trusts its public key {keys[0].public_text}"
    remedy = f"try: add the public key to signatures: keys: in {POLICY}"
    for required, named, said in (
        (0, (), [f"ok    signing key: {unknown}"]),
        (0, keys[1:], [f"warn  signing key: {unknown}", remedy]),
        (0, keys, [f"ok    signing key: {trusted}"]),
        (
            1,
            keys,
            [f"ok    signing key: {trusted}", "ok    signatures: 1 required, of 2 trusted keys; 1 can be made here"],
        ),
        (
            2,
            keys,
            [
                f"ok    signing key: {trusted}",
                "warn  signatures: 2 required, of 2 trusted keys; 1 can be made here",
                "try: evolve sign EVIDENCE before it is promoted, with another of these keys",
            ],
        ),
    ):
        demand(workspace, required, *named)
        ran = evolve("doctor")
        assert (ran.code, shown(ran)) == (0, said)
        assert pem.splitlines()[1] not in ran.out + ran.err + evolve("doctor", "--json").out


def test_a_key_that_cannot_be_used_is_a_fault_and_not_shown(
    workspace: Path, evolve: CommandLine, keys: tuple[SigningKey, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = (tmp_path / "keys/0.pem").read_text().splitlines()[1]
    monkeypatch.setenv(KEY_VARIABLE, f"-----BEGIN PRIVATE KEY-----\n{secret[:-4]}\n-----END PRIVATE KEY-----\n")
    ran = evolve("doctor")
    assert (ran.code, secret[:-4] in ran.out + ran.err) == (1, False)
    assert shown(ran)[0] == f"FAIL  signing key: {KEY_VARIABLE}: no private key in PEM"
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(tmp_path / "keys/0.pem"))
    assert shown(evolve("doctor"))[0].endswith("are both set")
    monkeypatch.setenv(KEY_VARIABLE, "")
    (tmp_path / "keys/0.pem").chmod(0o644)
    assert "others may read this private key" in evolve("doctor").out
