"""The names of new tasks."""

from __future__ import annotations

import re

from evolve.errors import InputError
from evolve.workspace import Workspace

IDENTIFIER = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_ID_CHARS = 64


def free_id(workspace: Workspace, identifier: str) -> None:
    """Refuse what is no id, or is one already.

    Raises:
        InputError: See above.

    """
    if not IDENTIFIER.fullmatch(identifier) or len(identifier) > MAX_ID_CHARS:
        hint = f"lower-case letters, digits and single hyphens, at most {MAX_ID_CHARS}"
        raise InputError(f"{identifier!r} is not an id for a task", hint=hint, code="task-id")
    target = workspace.corpus / identifier
    if target.exists() or target.is_symlink():
        raise InputError(f"{workspace.relative(target)}: exists already", hint="choose another id", code="task-exists")
