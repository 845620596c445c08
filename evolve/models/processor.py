"""What the processor of this machine is called and can do."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
X86_MACHINES = frozenset({"x86_64", "amd64", "i686"})


@dataclass(frozen=True)
class Processor:
    """A processor; ``flags`` is empty and ``name`` is ``None`` where the system does not tell."""

    machine: str
    name: str | None
    flags: frozenset[str]

    def lacks(self, *features: str) -> tuple[str, ...]:
        """Return those x86 features that this processor is known not to have; none on other machines."""
        if self.machine.lower() not in X86_MACHINES or not self.flags:
            return ()
        return tuple(feature for feature in features if feature not in self.flags)


def read_processor(cpuinfo: Path | None = None) -> Processor:
    """Read the processor of this machine from ``/proc/cpuinfo``."""
    try:
        text = (cpuinfo or CPUINFO).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return Processor(
        machine=platform.machine(),
        name=fields.get("model name") or None,
        flags=frozenset(fields.get("flags", "").split()),
    )
