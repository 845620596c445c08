"""``evolve sign``."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option
from evolve.errors import EvidenceFault, InputError


@click.command("sign", short_help="Sign evidence that holds; several may.")
@click.argument("evidence")
@click.option("--key", "key_file", type=click.Path(path_type=Path), help="The private key; else the environment's.")
@json_option
def command(evidence: str, key_file: Path | None, as_json: bool) -> None:
    """Add a signature to evidence, after every check of the audit.

    EVIDENCE is a folder below promotion/. Without --key, EVOLVE_SIGNING_KEY names the file of the private key, or
    EVOLVE_SIGNING_KEY_PEM holds it.

    Example: evolve sign promotion/purchase-json/1a2b3c4d5e6f
    """
    from evolve.files import writer_lock
    from evolve.promote.apply import evidence_of
    from evolve.promote.audit import audit_evidence, open_audit
    from evolve.promote.git import Repository
    from evolve.promote.keys import KEY_FILE_VARIABLE, read_key, signing_key
    from evolve.promote.signed import ENOUGH, sign_evidence

    workspace = here()
    folder = evidence_of(workspace, evidence)
    if folder is None or not folder.is_relative_to(workspace.promotion):
        raise InputError(f"{evidence}: no evidence of this workspace", hint="evolve audit --all", code="not-found")
    key = read_key(key_file, str(key_file)) if key_file else signing_key()
    if key is None:
        hint = f"--key FILE, or set {KEY_FILE_VARIABLE}; evolve key new makes one"
        raise InputError("no key to sign with", hint=hint, code="no-key")
    with writer_lock(workspace.locks / "promote.lock", "a promotion"):
        context, chain = open_audit(workspace, Repository(workspace.root))
        findings = [chain, *audit_evidence(folder, context)]
        fault = next((one for one in findings if not one.holds and one.check != ENOUGH), None)
        if fault is not None:
            text = f"{fault.file}: {fault.check}: {fault.detail or 'does not hold'}"
            raise EvidenceFault(f"not signed, as it does not hold: {text}", hint="evolve audit", code="does-not-hold")
        new = sign_evidence(folder, key)
    where = workspace.relative(folder)
    value = {"evidence": where, "public_key": key.public_text, "keyid": key.keyid, "new": new}
    emit(value, f"{where}: signed by {key.public_text}{'' if new else ' already'}", as_json=as_json)
