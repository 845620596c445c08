"""Columns of a report, which nothing that decides may read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.agents.transcripts import tells
from evolve.bench.plan import build_plan
from evolve.propose.diagnostics.columns import diagnostics_table, sweep_diagnostics
from evolve.propose.diagnostics.finding import FindingKind
from evolve.records.kinds import Role
from evolve.report.markdown import sweep_report
from tests.builders import make_request, make_row, make_skill, make_task
from tests.propose.diagnostics.transcripts import CLAUDE, CODEX, lines, stored_row
