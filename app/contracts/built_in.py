"""The contracts that every team has: what a developer and a reviewer are given, and what they answer.

A change of these models is a new version of the contract: raise its number, so that tasks under way keep theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from app.agents.spec import Strict

MOST_NAMED = 500
MOST_FINDINGS = 1_000
Line = Annotated[str, Field(max_length=1_000)]
Lines = Annotated[list[Line], Field(max_length=MOST_NAMED)]
Prose = Annotated[str, Field(min_length=1, max_length=20_000)]
OwnName = Annotated[
    str | None, Field(max_length=200, description="The caller's own name for the work; Parley keeps it as it is.")
]


class DeveloperStatus(StrEnum):
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"


class FocusArea(StrEnum):
    SECURITY = "security"
    PERFORMANCE = "performance"
    STYLE = "style"
    LOGIC = "logic"


class Severity(StrEnum):
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    SUGGESTION = "suggestion"


class Category(StrEnum):
    BUG = "bug"
    SECURITY = "security"
    PERFORMANCE = "performance"
    STYLE = "style"
    LOGIC = "logic"


class Verdict(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"


class WorkContext(Strict):
    specs: Annotated[Lines, Field(default_factory=list, description="Paths of the specifications that count.")]
    reference_files: Annotated[Lines, Field(default_factory=list, description="Paths of files to read first.")]


class Constraints(Strict):
    scope: Annotated[Lines, Field(description="Paths of the files that may be changed.")]
    testing_required: Annotated[bool, Field(description="Whether tests must come with the change.")]
    style_guide: Annotated[Line | None, Field(description="The style to follow: a path, an address or its name.")] = (
        None
    )


class DeveloperInput(Strict):
    task_id: OwnName = None
    task_description: Annotated[Prose, Field(description="What is to be made or changed.")]
    context: Annotated[WorkContext, Field(default_factory=WorkContext)]
    constraints: Constraints


class Changes(Strict):
    files_created: Lines
    files_modified: Lines
    files_deleted: Lines


class DeveloperOutput(Strict):
    task_id: OwnName = None
    status: DeveloperStatus
    changes: Changes
    summary: Annotated[Prose, Field(description="What was done and why.")]
    notes: Prose | None = None
    blockers: Annotated[Lines, Field(default_factory=list, description="What kept it from being completed.")]


class ReviewScope(Strict):
    files: Annotated[Lines, Field(min_length=1, description="Paths of the files to review.")]
    focus_areas: Annotated[list[FocusArea], Field(default_factory=list, max_length=len(FocusArea))]


class Criteria(Strict):
    must_pass_tests: bool
    must_pass_type_check: bool
    custom_checks: Annotated[Lines, Field(default_factory=list, description="Names of further checks.")]


class ReviewerInput(Strict):
    task_id: OwnName = None
    review_scope: ReviewScope
    criteria: Criteria


class ReviewFinding(Strict):
    finding_id: Annotated[str, Field(min_length=1, max_length=200)]
    severity: Severity
    category: Category
    file: Annotated[str, Field(min_length=1, max_length=1_000)]
    line: Annotated[int, Field(ge=1)] | None = None
    description: Prose
    suggestion: Prose | None = None


class Verification(Strict):
    tests_passed: bool
    type_check_passed: bool
    custom_checks: Annotated[
        dict[str, bool], Field(default_factory=dict, max_length=MOST_NAMED, description="Outcome by name.")
    ]


class ReviewerOutput(Strict):
    task_id: OwnName = None
    verdict: Verdict
    findings: Annotated[list[ReviewFinding], Field(max_length=MOST_FINDINGS)]
    verification: Verification
    summary: Prose


@dataclass(frozen=True, slots=True)
class BuiltIn:
    name: str
    version: int
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


BUILT_IN = {
    one.name: one
    for one in (
        BuiltIn(
            name="developer",
            version=1,
            description="Work on code: what to change within which bounds, and what was changed.",
            input_schema=DeveloperInput.model_json_schema(),
            output_schema=DeveloperOutput.model_json_schema(),
        ),
        BuiltIn(
            name="reviewer",
            version=1,
            description="A review of code: what to look at, and a verdict with its findings and verifications.",
            input_schema=ReviewerInput.model_json_schema(),
            output_schema=ReviewerOutput.model_json_schema(),
        ),
    )
}
