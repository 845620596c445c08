"""A small world of rules: some help, some harm, each line costs; what a text is worth is known exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from evolve.propose.edits import Edit, edits_of, with_edits
from evolve.propose.search.drive import Made, NotMade, Scores
from evolve.records.search import Step
from evolve.skills import SKILL_FILE, Skill
from evolve.snapshot import Snapshot

TASKS = tuple(f"t{number:02d}" for number in range(30))
_RULE = re.compile(r"^- RULE (\w+)$", re.MULTILINE)
HELPFUL, HARMFUL, NEUTRAL = 8, 4, 8


def skill_of(rules: list[str]) -> Skill:
    body = "\n".join(f"- RULE {rule}" for rule in rules)
    return Skill(
        "x", "skills/x", Snapshot.of_texts({SKILL_FILE: f"---\nname: x\ndescription: X.\n---\n\n# X\n\n{body}\n"})
    )


def worth(rules: list[str], *, null: bool = False) -> float:
    if null:
        return 0.5
    helps, harms = sum(rule[0] == "r" for rule in rules), sum(rule[0] == "h" for rule in rules)
    return min(0.98, max(0.02, 0.3 + 0.06 * helps - 0.08 * harms - 0.005 * len(rules)))


@dataclass
class RuleWorld:
    """Makes and measures: one random edit a proposal, one biased coin a cell."""

    seed: int
    null: bool = False
    cells: int = 0
    calls: list[Step] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=lambda: {"incumbent": []})
    edits: dict[str, Edit] = field(default_factory=dict)

    def make(self, step: Step) -> Made | NotMade:
        self.calls.append(step)
        if step.kind == "compose":
            text = with_edits(skill_of([]), [self.edits[edit] for edit in step.edits])[SKILL_FILE]
            return self._made(_RULE.findall(text or ""))
        rules = list(self.texts[step.parents[0]])
        source = Random(f"{self.seed} {step.number}")
        draw = source.random()
        if draw < 0.15 and rules:
            rules.remove(source.choice(rules))
        else:
            kind, count = ("h", HARMFUL) if draw < 0.35 else ("r", HELPFUL) if draw < 0.75 else ("d", NEUTRAL)
            rules.append(f"{kind}{source.randrange(count)}")
        rules = list(dict.fromkeys(rules))
        return self._made(rules) if rules and rules != self.texts[step.parents[0]] else NotMade("nothing new")

    def _made(self, rules: list[str]) -> Made:
        found = edits_of(skill_of([]), skill_of(rules))
        self.edits.update((edit.id, edit) for edit in found)
        name = " ".join(sorted(rules))
        self.texts[name] = rules
        return Made(name, found, sum(edit.tokens for edit in found))

    def measure(self, step: Step) -> Scores:
        self.calls.append(step)
        names = [*([None] if step.beside else []), *step.candidates]
        scores: dict[str | None, list[float]] = {}
        for name in names:
            chance = worth(self.texts[name or "incumbent"], null=self.null)
            scores[name] = [
                float(Random(f"{self.seed} {step.batch} {name} {task}").random() < chance) for task in step.tasks
            ]
        self.cells += len(step.tasks) * len(names)
        return scores
