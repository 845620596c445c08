"""Finding the code in a reply, however it is wrapped."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from evolve.replies.fences import CodeBlock, code_blocks

PYTHON = frozenset({"", "python", "py", "python3", "text", "code"})
MAX_CODE_CHARS = 200_000
_BEGINS = re.compile(
    r"^(?:from\s+[\w.]+\s+import\b|import\s+\w|(?:async\s+)?def\s+\w|class\s+\w|@\w|"
    r"[A-Za-z_]\w*\s*(?::[^=]+)?=[^=])"
)


def _parsed(code: str) -> ast.Module | None:
    if len(code) > MAX_CODE_CHARS:
        return None
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defines(tree: ast.Module, name: str) -> bool:
    return name in _bound(tree)


def _bound(tree: ast.Module) -> set[str]:
    """Return every name that a module binds anywhere: looser than Python, which is enough to see what is missing."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _missing(tree: ast.Module) -> set[str]:
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return used - _bound(tree) - set(dir(builtins))


def _is_python(block: CodeBlock) -> bool:
    return block.info.split(" ", 1)[0].casefold() in PYTHON or ".py" in block.info


def python_of(reply: str, function: str) -> str:
    """Return the Python code in a reply that defines a function.

    A fenced block that defines it, with the blocks before and after where it needs names of theirs; else the code
    that stands in the reply without a fence; else the first block, or the whole reply, as it is.
    """
    reply = reply.replace("\r\n", "\n")
    blocks = [block for block in code_blocks(reply) if _is_python(block)]
    trees = {number: tree for number, block in enumerate(blocks) if (tree := _parsed(block.content)) is not None}
    defining = [number for number, tree in trees.items() if _defines(tree, function)]
    if defining:
        chosen = defining[-1]
        lacking = _missing(trees[chosen])
        others = {number for number, tree in trees.items() if number != chosen and lacking & _bound(tree)}
        return "\n\n".join(blocks[number].content for number in sorted({chosen, *others}))
    for code in _unfenced(reply):
        tree = _parsed(code)
        if tree is not None and _defines(tree, function):
            return code
    found = code_blocks(reply)
    return found[0].content if found else reply


def _unfenced(reply: str) -> Iterator[str]:
    """Yield what may be code in a reply without a fence that closes: all of it, then from and up to likely lines."""
    lines = [line for line in reply.split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    yield "\n".join(lines)
    starts = [number for number, line in enumerate(lines) if _BEGINS.match(line)][:20]
    for start in starts:
        for end in range(len(lines), max(start, len(lines) - 60), -1):
            if end == len(lines) or (lines[end].strip() and not lines[end][0].isspace()):
                yield "\n".join(lines[start:end])
