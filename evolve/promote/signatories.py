"""Who signed one folder of evidence, for a report: in names, and in the words of the audit."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.errors import EvolveError
from evolve.promote.attest import ATTESTATION_FILE, envelopes
from evolve.promote.evidence import Evidence
from evolve.promote.signed import demand_in_force, read_envelope
from evolve.promote.signing import Signers, signers
from evolve.workspace import POLICY_FILE


@dataclass(frozen=True)
class Signatories:
    """Who signed, ``None`` where it was not this evidence, and what else keeps a reader from relying on it."""

    signers: Signers | None
    faults: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Faults first, then who vouches."""
        told = (*self.signers.faults, *self.signers.notes) if self.signers is not None else ()
        return (*self.faults, *(f"{check}: {detail}" for check, detail in told))

    def json_value(self) -> dict[str, list[str]]:
        """Return what programs read."""
        found = self.signers or Signers()
        return {"trusted": list(found.trusted), "others": list(found.others), "said": list(self.lines)}


def signatories(evidence: Evidence) -> Signatories:
    """Return who signed evidence, by the keys that the policy in force trusts."""
    demanded, why_not = demand_in_force(evidence.folder)
    faults = (f"{POLICY_FILE}: {why_not.message}",) if why_not is not None else ()
    try:
        envelope = read_envelope(evidence.folder / ATTESTATION_FILE)
    except EvolveError as error:
        return Signatories(None, (*faults, f"{ATTESTATION_FILE}: {error.message}"))
    if envelope.payload != envelopes(evidence.promotion, evidence.promotion_sha256)[ATTESTATION_FILE].payload:
        changed = f"{ATTESTATION_FILE}: states something else than the evidence: nobody vouches for these rows"
        return Signatories(None, (*faults, changed))
    return Signatories(signers(envelope, demanded.keys), faults)
