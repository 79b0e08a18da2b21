"""Rules of the code that no type checker knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.follow_ups.models import FollowUpKind
from jobs.functions import FUNCTIONS
from jobs.worker import WorkerSettings

SOURCES = [file for package in ("app", "graphql_schema", "jobs") for file in Path(package).rglob("*.py")]
PURE_RULES = [
    "app/agents/status.py", "app/teams/flags.py", "app/handoffs/changes.py", "app/team_files/plan.py",
    "app/tasks/delegation.py", "app/tasks/priority.py", "app/tasks/spec.py", "app/tasks/retry_policy.py",
    "app/tasks/oscillation.py", "app/contracts/check.py",
    "app/contracts/schemas.py", "app/redaction.py", "app/consultations/context_builder.py",
    "app/consultations/likeness.py", "app/consultations/loop_detector.py", "app/consultations/specialist.py",
    "app/consultations/wording.py",
]  # fmt: skip
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py", "manager.py", "misc.py"}


def test_every_kind_of_follow_up_has_a_function_of_its_name() -> None:
    assert set(FUNCTIONS) == {"execute_task", *FollowUpKind}
    assert {name: function.__name__ for name, function in FUNCTIONS.items()} == {name: name for name in FUNCTIONS}
    assert {function.name for function in WorkerSettings.functions} == set(FUNCTIONS)


def test_only_the_transaction_commits() -> None:
    commits = [str(file) for file in SOURCES if re.search(r"\.commit\(\)", file.read_text())]

    # Alembic's own connection is committed by the migrations' runner, not by a session.
    assert set(commits) <= {"app/db/transaction.py", "app/db/migrate.py"}


def test_no_file_is_named_for_nothing() -> None:
    assert [str(file) for file in SOURCES if file.name in FORBIDDEN_NAMES] == []


@pytest.mark.parametrize("name", PURE_RULES)
def test_pure_rules_import_no_session_clock_or_network(name: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse(Path(name).read_text())):
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
        elif isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)

    banned = {"app.clock", "app.db.engine", "app.redis", "sqlalchemy.ext.asyncio", "asyncio", "httpx"}
    assert imported & banned == set()


def test_every_module_says_what_it_answers_for() -> None:
    silent = [
        str(file)
        for file in SOURCES
        if file.name != "__init__.py" and ast.get_docstring(ast.parse(file.read_text())) is None
    ]
    assert silent == []
