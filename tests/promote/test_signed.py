"""Signed evidence: a forgery that fits together is found, and a policy's demand is held to."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.digest import sha256_bytes
from evolve.files import write_atomic
from evolve.gate.decide import decide
from evolve.promote.attest import TEST_RESULT_FILE, envelopes
from evolve.promote.evidence import gate_input, read_evidence
from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE, SigningKey, new_key
from evolve.promote.ledger import LEDGER_FILE, read_ledger
from evolve.promote.signed import read_envelope, sign_evidence
from evolve.records.base import jsonl_bytes
from evolve.records.envelope import MAX_ENVELOPE_BYTES
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import ScriptedModel, git, make_workspace

DOCS = Path(__file__).parents[2] / "docs/evidence.md"


@pytest.fixture
def keys(tmp_path: Path) -> tuple[SigningKey, ...]:
    (tmp_path / "keys").mkdir()
    return tuple(new_key(tmp_path / f"keys/{number}.pem") for number in range(3))


def demand(root: Path, required: int, *trusted: SigningKey) -> None:
    path = root / "promotion/policy.yaml"
    value = json.dumps({"required": required, "keys": [key.public_text for key in trusted]})
    path.write_text(re.sub(r"^signatures:.*\n", "", path.read_text(), flags=re.MULTILINE) + f"signatures: {value}\n")
    git(root, "commit", "--quiet", "--all", "--message", "Demand signatures")


def benchmark_under(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine, required: int, *trusted: SigningKey
) -> Measured:
    root = make_workspace(tmp_path / "demanding")
    monkeypatch.chdir(root)
    demand(root, required, *trusted)
    assert evolve("propose", "--operator", "demonstrate").code == 0
    overlay = f"overlays/{next((root / 'overlays').iterdir()).name}"
    ran = evolve("benchmark", overlay)
    assert ran.code == 0, ran.err
    return Measured(root, overlay, next((root / "promotion/bracket").iterdir()))


@pytest.fixture
def demanding(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: ScriptedModel,
    evolve: CommandLine,
    keys: tuple[SigningKey, ...],
) -> Measured:
    """Measure under a policy that demands a signature of the first two keys; nothing is signed yet."""
    return benchmark_under(tmp_path, monkeypatch, evolve, 1, keys[0], keys[1])


def audit(evolve: CommandLine) -> tuple[int, str]:
    ran = evolve("audit", "--all")
    return ran.code, ran.out


def refused(measured: Measured, evolve: CommandLine) -> str:
    ran = evolve("promote", measured.overlay, "--json")
    assert ran.code == 1
    return str(ran.json()["error"]["code"])


def forge(measured: Measured) -> None:
    """Make rows, aggregates, digests and the ledger say that the candidate did even better; all of it fits."""
    evidence, root = measured.evidence(), measured.root / "promotion"
    rows = tuple(
        row.model_copy(update={"usage": row.usage.model_copy(update={"output_tokens": 1})}) for row in evidence.rows
    )
    spend = evidence.promotion.spend
    tokens = sum(row.usage.output_tokens or 0 for row in rows if row.reused is None)
    forged = evidence.promotion.model_copy(
        update={
            "rows_sha256": sha256_bytes(jsonl_bytes(rows)),
            "row_sha256": tuple(row.digest() for row in rows),
            "decision": decide(gate_input(evidence.promotion, rows)),
            "spend": spend.model_copy(update={"output_tokens": tokens}),
        }
    )
    data = forged.canonical() + b"\n"
    write_atomic(measured.folder / "promotion.json", data)
    write_atomic(measured.folder / "rows.jsonl", jsonl_bytes(rows))
    for name, envelope in envelopes(forged, sha256_bytes(data)).items():
        old = read_envelope(measured.folder / name).signatures
        write_atomic(measured.folder / name, envelope.model_copy(update={"signatures": old}).file_bytes())
    *before, last = read_ledger(root)
    assert last.entry == "decision"
    entries = (*before, last.model_copy(update={"evidence_sha256": sha256_bytes(data)}))
    write_atomic(root / LEDGER_FILE, jsonl_bytes(entries))


def test_unsigned_evidence_is_said_to_be_and_no_fault_where_nothing_is_demanded(
    measured: Measured, evolve: CommandLine
) -> None:
    code, out = audit(evolve)
    assert code == 0
    assert "attestation.json: unsigned: nobody vouches for these rows" in out
    story = evolve("audit", str(measured.folder), "--explain")
    assert "unsigned: nobody vouches for these rows" in story.out
    assert evolve("promote", measured.overlay).code == 0


def test_a_forgery_that_fits_together_passes_unsigned_and_is_said_to_be_vouched_for_by_nobody(
    measured: Measured, evolve: CommandLine
) -> None:
    forge(measured)
    code, out = audit(evolve)
    assert code == 0, out
    assert "nobody vouches for these rows" in out


def test_a_forgery_that_fits_together_is_found_when_it_was_signed(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    sign_evidence(measured.folder, keys[0])
    assert f"signed: by {keys[0].public_text}, which the policy does not trust" in audit(evolve)[1]
    forge(measured)
    code, out = audit(evolve)
    assert code == 4
    assert "attestation.json: signature 1: expected" in out
    assert refused(measured, evolve) == "bad-signature"


def test_a_forgery_whose_signatures_were_taken_off_is_found_where_they_are_demanded(
    demanding: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    sign_evidence(demanding.folder, keys[0])
    assert audit(evolve)[0] == 0
    forge(demanding)
    for name in ("attestation.json", TEST_RESULT_FILE):
        envelope = read_envelope(demanding.folder / name)
        write_atomic(demanding.folder / name, envelope.model_copy(update={"signatures": ()}).file_bytes())
    code, out = audit(evolve)
    assert code == 4
    assert "0 of the 1 that the policy in force requires" in out


def test_what_the_policy_demands_is_refused_found_and_mended(
    demanding: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...], tmp_path: Path
) -> None:
    assert refused(demanding, evolve) == "unsigned"
    code, out = audit(evolve)
    assert (code, "nobody vouches" in out) == (4, False)

    assert evolve("sign", str(demanding.folder), "--key", str(tmp_path / "keys/2.pem")).code == 0
    assert refused(demanding, evolve) == "untrusted-signature"
    assert f"{keys[2].public_text}, which the policy does not trust" in audit(evolve)[1]

    ran = evolve("sign", str(demanding.folder), "--key", str(tmp_path / "keys/1.pem"), "--json")
    assert (ran.code, ran.json()["new"], ran.json()["public_key"]) == (0, True, keys[1].public_text)
    code, out = audit(evolve)
    assert (code, f"{keys[1].public_text}, which the policy trusts" in out) == (0, True)
    before = (demanding.folder / "attestation.json").read_bytes()
    again = evolve("sign", str(demanding.folder), "--key", str(tmp_path / "keys/1.pem"))
    assert (again.code, "already" in again.out) == (0, True)
    assert (demanding.folder / "attestation.json").read_bytes() == before
    assert evolve("promote", demanding.overlay).code == 0
    assert audit(evolve)[0] == 0


def test_two_signers_are_two_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: ScriptedModel,
    evolve: CommandLine,
    keys: tuple[SigningKey, ...],
) -> None:
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(tmp_path / "keys/0.pem"))
    measured = benchmark_under(tmp_path, monkeypatch, evolve, 2, keys[0], keys[1])
    assert refused(measured, evolve) == "unsigned"
    assert "1 of the 2 that the policy in force requires" in audit(evolve)[1]
    assert evolve("sign", str(measured.folder)).code == 0
    assert refused(measured, evolve) == "unsigned"
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(tmp_path / "keys/1.pem"))
    assert evolve("sign", str(measured.folder)).code == 0
    assert audit(evolve)[0] == 0
    swap_key_ids(measured)
    assert audit(evolve)[0] == 0
    assert evolve("promote", measured.overlay).code == 0


def swap_key_ids(measured: Measured) -> None:
    path = measured.folder / "attestation.json"
    envelope = read_envelope(path)
    ids = [signature.keyid for signature in reversed(envelope.signatures)]
    swapped = [one.model_copy(update={"keyid": keyid}) for one, keyid in zip(envelope.signatures, ids, strict=True)]
    write_atomic(path, envelope.model_copy(update={"signatures": tuple(swapped)}).file_bytes())


def test_no_form_of_the_key_reaches_a_file_or_what_is_printed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: ScriptedModel,
    evolve: CommandLine,
    keys: tuple[SigningKey, ...],
) -> None:
    pem = (tmp_path / "keys/0.pem").read_text()
    monkeypatch.setenv(KEY_VARIABLE, pem)
    measured = benchmark_under(tmp_path, monkeypatch, evolve, 1, keys[0])
    ran = [evolve("promote", measured.overlay), evolve("audit", "--all"), evolve("report", str(measured.folder))]
    assert [one.code for one in ran] == [0, 0, 0]
    seed = keys[0].private.private_bytes_raw()
    forms = [form.encode() for form in (pem.splitlines()[1], seed.hex(), base64.b64encode(seed).decode())]
    for path in measured.root.rglob("*"):
        if path.is_file():
            assert not any(form in path.read_bytes() for form in (*forms, seed)), path
    printed = "".join(one.out + one.err for one in ran).encode()
    assert not any(form in printed for form in forms)


@pytest.mark.parametrize("name", ["no-such-file", ".", "policy.yaml"])
def test_a_key_that_cannot_be_used_is_told_before_a_call(
    workspace: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine, name: str
) -> None:
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(workspace / "promotion" / name))
    ran = evolve("measure", "incumbent", "--skill", "bracket")
    assert (ran.code, len(model.requests)) == (2, 0)
    assert KEY_FILE_VARIABLE in ran.err


def _rewrite(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def rewritten(data: bytes) -> bytes:
        value = json.loads(data)
        change(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    return rewritten


@pytest.mark.parametrize(
    "damage",
    [
        _rewrite(lambda value: value.update(payload="####")),
        _rewrite(lambda value: value.update(payload="QQ==")),
        _rewrite(lambda value: value.update(payloadType="text/plain")),
        _rewrite(lambda value: value.update(signatures=[{"keyid": "", "sig": "####"}])),
        _rewrite(lambda value: value.update(signatures=[{"keyid": "", "sig": "QUJD"}])),
        _rewrite(lambda value: value.update(signatures=[{}] * 1000)),
        lambda data: data + b" " * MAX_ENVELOPE_BYTES,
        lambda data: data + b"\n",
        lambda data: data.replace(b'"payload"', b'"payload":"x","payload"', 1),
        lambda _: b"[" * 100_000,
        lambda _: b"\xff\xfe",
        lambda _: b"",
    ],
)
@pytest.mark.parametrize("file", ["attestation.json", TEST_RESULT_FILE])
def test_an_attestation_that_was_tampered_with_is_a_fault_and_neither_promoted_nor_signed(
    measured: Measured, evolve: CommandLine, file: str, damage: Callable[[bytes], bytes], keys: tuple[SigningKey, ...]
) -> None:
    path = measured.folder / file
    path.write_bytes(damage(path.read_bytes()))
    code, out = audit(evolve)
    assert code == 4
    assert f"{file}: " in out
    assert refused(measured, evolve) in ("attestation-changed", "bad-signature")
    ran = evolve("sign", str(measured.folder), "--key", str(measured.root.parent / "keys/0.pem"), "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (1, "does-not-hold")


def test_evidence_that_does_not_hold_is_not_signed(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...], tmp_path: Path
) -> None:
    path = measured.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"output_tokens":', b'"output_tokens":9', 1))
    before = (measured.folder / "attestation.json").read_bytes()
    ran = evolve("sign", str(measured.folder), "--key", str(tmp_path / "keys/0.pem"))
    assert ran.code == 1
    assert "rows.jsonl:1: row digest" in ran.err
    assert (measured.folder / "attestation.json").read_bytes() == before


def test_signing_without_a_key_or_evidence_says_what_to_do(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("sign", str(measured.folder))
    assert (ran.code, KEY_FILE_VARIABLE in ran.err) == (2, True)
    assert evolve("sign", "overlays").code == 2


def test_evidence_of_before_does_without_a_test_result(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    (measured.folder / TEST_RESULT_FILE).unlink()
    assert audit(evolve)[0] == 0
    assert sign_evidence(measured.folder, keys[0])
    assert evolve("promote", measured.overlay).code == 0
    assert audit(evolve)[0] == 0


def test_evidence_from_before_the_demand_is_a_fault_until_it_is_signed(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    demand(measured.root, 1, keys[0])
    assert audit(evolve)[0] == 4
    sign_evidence(measured.folder, keys[0])
    assert audit(evolve)[0] == 0
    demand(measured.root, 1, keys[1])
    assert audit(evolve)[0] == 4, "whose key is trusted no more vouches no more"


def test_a_policy_that_demands_nothing_any_more_is_no_way_around_the_one_that_was_decided_under(
    demanding: Measured, evolve: CommandLine
) -> None:
    demand(demanding.root, 0)
    code, out = audit(evolve)
    assert code == 4
    assert "0 of the 1 that the policy that was decided under requires" in out


def test_a_policy_that_cannot_be_read_is_a_fault(measured: Measured, evolve: CommandLine) -> None:
    (measured.root / "promotion/policy.yaml").unlink()
    code, out = audit(evolve)
    assert (code, "policy.yaml: policy in force" in out) == (4, True)


def test_the_test_result_says_what_the_gate_said(measured: Measured) -> None:
    payload = json.loads(base64.b64decode(read_envelope(measured.folder / TEST_RESULT_FILE).payload))
    assert payload["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert payload["predicate"]["result"] == "PASSED"
    assert payload["predicate"]["failedTests"] == []
    assert payload["predicate"]["passedTests"]
    rows = hashlib.sha256((measured.folder / "rows.jsonl").read_bytes()).hexdigest()
    assert {"name": "rows.jsonl", "digest": {"sha256": rows}} in payload["subject"]


def script(name: str, tmp_path: Path) -> Path:
    """Return a script as the documentation shows it."""
    found = re.search(rf"^```python {re.escape(name)}\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    assert len([line for line in found[1].splitlines() if line.strip()]) <= 20
    path = tmp_path / name
    path.write_text(found[1])
    return path


def run(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(path), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_digests_are_checked_by_the_script_that_the_documentation_shows(measured: Measured, tmp_path: Path) -> None:
    path = script("digests.py", tmp_path)
    ran = run(path, measured.folder)
    assert (ran.returncode, "what was bound" in ran.stdout) == (0, True), ran.stderr
    for file in ("promotion.json", "rows.jsonl", "overlay/skills/bracket/SKILL.md"):
        target = measured.folder / file
        before = target.read_bytes()
        target.write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        assert run(path, measured.folder).returncode == 1, file
        target.write_bytes(before)
    target.chmod(0o755)
    assert run(path, measured.folder).returncode == 1, "an executable file is another one"


def test_the_script_knows_files_that_come_and_go(several_files: Measured, tmp_path: Path) -> None:
    path = script("digests.py", tmp_path)
    assert run(path, several_files.folder).returncode == 0
    (several_files.folder / "overlay/skills/bracket/old.md").write_text("")
    assert run(path, several_files.folder).returncode == 1


def test_the_signatures_are_checked_by_securesystemslib_alone_as_the_documentation_shows(
    measured: Measured, tmp_path: Path, keys: tuple[SigningKey, ...]
) -> None:
    path, attestation = script("signatures.py", tmp_path), measured.folder / "attestation.json"
    assert "import evolve" not in path.read_text()
    sign_evidence(measured.folder, keys[0])
    sign_evidence(measured.folder, keys[1])
    both = [keys[0].public_text, keys[1].public_text]
    ran = run(path, attestation, *both)
    assert (ran.returncode, ran.stdout) == (0, "signed by each of 2\n"), ran.stderr
    assert run(path, attestation, *both, keys[2].public_text).returncode != 0
    value = json.loads(attestation.read_bytes())
    value["payload"] = base64.b64encode(base64.b64decode(value["payload"]).replace(b"promote", b"Promote")).decode()
    attestation.write_text(json.dumps(value))
    assert run(path, attestation, *both).returncode != 0


def test_sha256sum_prints_the_digests_that_are_bound(measured: Measured) -> None:
    evidence = read_evidence(measured.folder)
    lines = subprocess.run(
        ["sha256sum", "promotion.json", "rows.jsonl"], cwd=measured.folder, capture_output=True, text=True, check=True
    ).stdout.split()
    assert lines[::2] == [evidence.promotion_sha256, evidence.promotion.rows_sha256]
