"""Passages of a skill that no proposal may change."""

from __future__ import annotations

from evolve.errors import InputError

BEGIN, END = "<!-- evolve:keep -->", "<!-- evolve:end -->"


def protected_passages(text: str) -> tuple[str, ...]:
    """Return what stands between each ``evolve:keep`` and the next ``evolve:end``, or the end of the text."""
    found = []
    rest = text
    while BEGIN in rest:
        _, _, rest = rest.partition(BEGIN)
        passage, _, rest = rest.partition(END)
        found.append(passage)
    return tuple(found)


def check_protected(before: str, after: str, where: str) -> None:
    """Check that every protected passage is still protected, byte for byte but for line ends, and in the same order.

    Args:
        before: A file of the incumbent.
        after: What is to replace it.
        where: What to call the latter in an error.

    Raises:
        InputError: A passage was changed, moved before another, or is not protected any more.

    """
    wanted = protected_passages(before.replace("\r\n", "\n"))
    kept = iter(protected_passages(after.replace("\r\n", "\n")))
    for passage in wanted:
        if passage not in kept:
            first = next((line.strip() for line in passage.splitlines() if line.strip()), "an empty passage")
            raise InputError(
                f"{where}: changes a protected passage, which begins with {first[:60]!r}",
                hint=f"what stands between {BEGIN} and {END} stays as it is, with its marks",
                code="protected",
            )
