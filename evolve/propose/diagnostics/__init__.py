"""What an agent's transcript shows: hints for who proposes changes, columns in reports, never a reason to decide."""

from evolve.propose.diagnostics.diagnose import Diagnosis, diagnose
from evolve.propose.diagnostics.finding import Finding, FindingKind
from evolve.propose.diagnostics.of_row import diagnosis_of, digest_of_transcript

__all__ = ["Diagnosis", "Finding", "FindingKind", "diagnose", "diagnosis_of", "digest_of_transcript"]
