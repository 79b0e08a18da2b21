"""Words what a participant is asked for in a stage, and lays down the shape of its answer. Pure.

The goal and the participant's own instructions are what it is told to do; what others wrote comes as context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.collaborations.models import CollaborationTemplate, StageKind
from app.collaborations.patterns.state import Order
from app.collaborations.patterns.workflow import MOST_TASKS
from app.collaborations.spec import MOST_DURATION_S
from app.tasks.models import TaskType
from app.tasks.spec import MAX_INSTRUCTIONS

MAX_TOKENS = 100_000  # of one attempt at a stage; its share of the session's budget bounds the cost
DEVELOPER_S, REVIEWER_S = 600, 300  # what a stage of the template may take where the session says nothing else
WORK_KINDS = frozenset({StageKind.WORK, StageKind.REVISION, StageKind.STEP, StageKind.CONTRIBUTION})
FOCUS = ("security", "performance", "style", "logic")  # what a review looks at beside what must pass, if it has time
_TITLE = 80
_ROOM = MAX_INSTRUCTIONS - 2_000  # characters for context and outputs, beside their headings
_TYPES = {
    StageKind.PLAN: TaskType.PLAN,
    StageKind.WORK: TaskType.EXECUTE,
    StageKind.STEP: TaskType.EXECUTE,
    StageKind.CONTRIBUTION: TaskType.ANALYZE,
    StageKind.REVIEW: TaskType.REVIEW,
    StageKind.REVISION: TaskType.EXECUTE,
    StageKind.VOTE: TaskType.VALIDATE,
    StageKind.SYNTHESIS: TaskType.SUMMARIZE,
    StageKind.REPORT: TaskType.SUMMARIZE,
    StageKind.DECISION: TaskType.PLAN,
}
_ASKS = {
    StageKind.PLAN: "Break the goal down into tasks for the developers. Say for each which earlier tasks it needs, by "
    "their numbers from 1; tasks that need nothing of each other are worked on at the same time.",
    StageKind.WORK: "Do your part of the goal. Others work on theirs at the same time.",
    StageKind.STEP: "Do your stage. What the stages before yours made is in the context.",
    StageKind.CONTRIBUTION: "Give your own view of the goal. You do not see the others' views yet.",
    StageKind.REVIEW: "Review the work in the context against the goal. Approve it only if it can stand as it is; else "
    "say what has to change.",
    StageKind.REVISION: "Revise your work by the reviews in the context, and answer with the whole of it.",
    StageKind.VOTE: "Vote on your own. Choose exactly one of the options and give your reason.",
    StageKind.SYNTHESIS: "Put the outputs in the context together into one result. Say where they disagree.",
    StageKind.REPORT: "Report what was asked, made, reviewed and left open.",
    StageKind.DECISION: "A stage of this session failed; the context says which and why. Decide: retry it with the "
    "same agent, reassign it to another one, or abort the whole session.",
}
VERDICT = {
    "type": "object",
    "description": "The verdict on the work.",
    "properties": {
        "verdict": {"enum": ["approved", "changes_requested", "rejected"]},
        "feedback": {"type": "string", "maxLength": 20_000, "description": "What has to change, and why."},
    },
    "required": ["verdict", "feedback"],
    "additionalProperties": False,
}
PLAN = {
    "type": "object",
    "description": "The tasks that lead to the goal.",
    "properties": {
        "tasks": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_TASKS,
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "minLength": 1, "maxLength": 120},
                    "description": {"type": "string", "minLength": 1, "maxLength": 10_000},
                    "needs": {"type": "array", "maxItems": MOST_TASKS, "items": {"type": "integer"}},
                },
                "required": ["title", "description"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["tasks"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What a session is about, as far as all its participants are told."""

    goal: str
    context: str
    options: tuple[str, ...]
    template: CollaborationTemplate | None
    work_s: int | None = None
    review_s: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What an earlier stage made."""

    agent: str
    stage: str
    round: int
    text: str
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """A stage as a task: the fields of its spec, and what its answer must fit."""

    fields: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    contract: str | None = None
    contract_input: dict[str, Any] | None = None


def brief(order: Order, goal: Goal, own: str, sources: Sequence[Source], *, spared: str | None = None) -> Brief:
    """`spared` is set for a review whose time ran out: it is done again without what is optional, and is told how far
    it had come."""
    about = order.about if spared is None else f"Your first attempt ran out of time. It had come so far:\n{spared}"
    fields = {
        "type": _TYPES[order.kind],
        "title": _title(order, goal.goal),
        "instructions": _instructions(order, goal, own, hurried=spared is not None),
        "context": _context("\n\n".join(part for part in (about, goal.context) if part), sources),
        "max_tokens": MAX_TOKENS,
        "timeout_seconds": _time_s(order, goal),
    }
    if goal.template is not None and order.kind in {StageKind.WORK, StageKind.REVISION}:
        return Brief(fields, contract="developer", contract_input=_developer_input(order, goal))
    if goal.template is not None and order.kind is StageKind.REVIEW:
        return Brief(fields, contract="reviewer", contract_input=_reviewer_input(sources, hurried=spared is not None))
    shapes = {StageKind.VOTE: _ballot(goal.options), StageKind.REVIEW: VERDICT, StageKind.PLAN: PLAN}
    shapes[StageKind.DECISION] = _decision(order.choices)
    return Brief(fields, output_schema=shapes.get(order.kind))


def said(kind: StageKind, text: str, data: dict[str, Any] | None) -> str:
    """What others are shown of a stage: a vote and a verdict by what they come to, and of data what its words leave
    out."""
    if not data:
        return text
    if kind is StageKind.VOTE:
        return f"Vote: {data.get('choice')}\nReason: {data.get('reason')}"
    more = [data.get("summary"), data.get("notes")]
    more += [f"Blocker: {one}" for one in data.get("blockers") or ()]
    if kind is StageKind.REVIEW:
        text = f"Verdict: {data.get('verdict')}\n{data.get('feedback') or text}"
        more += [_finding(one) for one in data.get("findings") or ()]
    return "\n".join([text, *(one for one in more if one and one not in text)])


def _finding(found: dict[str, Any]) -> str:
    place = f"{found['file']}:{found['line']}" if found.get("line") else found["file"]
    suggested = f" Suggestion: {found['suggestion']}" if found.get("suggestion") else ""
    return f"- {found['severity']} ({found['category']}) in {place}: {found['description']}{suggested}"


def _title(order: Order, goal: str) -> str:
    about = " ".join(goal.split())
    about = about if len(about) <= _TITLE else about[: _TITLE - 1] + "…"
    round = f", round {order.round}" if order.round > 1 else ""
    return f"{order.name[:_TITLE]}{round}: {about}"


def _instructions(order: Order, goal: Goal, own: str, *, hurried: bool) -> str:
    """What is this participant's alone stands last: it may narrow what all are asked for."""
    parts = [goal.goal, _ASKS[order.kind]]
    if order.kind is StageKind.VOTE:
        parts.append(f"Options: {' | '.join(goal.options)}")
    if hurried:
        parts.append("The time ran out before. Skip every optional check: judge only by what must pass, and answer.")
    return "\n\n".join(part for part in (*parts, order.ask, own) if part)[:MAX_INSTRUCTIONS]


def _context(common: str, sources: Sequence[Source]) -> str:
    """All outputs that it builds on. Where they are longer than a task may be, each is cut to its share."""
    share = max(_ROOM - len(common), 0) // max(len(sources), 1) - 300
    parts = [common, *(f"{_heading(one)}\n{_cut(one.text, share)}" for one in sources)]
    return "\n\n".join(part for part in parts if part)


def _heading(source: Source) -> str:
    round = f", round {source.round}" if source.round > 1 else ""
    return f"From {source.agent} ({source.stage}{round}):"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _time_s(order: Order, goal: Goal) -> int:
    """The session's own time limit stops whatever runs. Work and reviews may have times of their own, and in the
    template always do."""
    if order.kind is StageKind.REVIEW:
        return goal.review_s or (REVIEWER_S if goal.template else MOST_DURATION_S)
    if order.kind in WORK_KINDS:
        return goal.work_s or (DEVELOPER_S if goal.template else MOST_DURATION_S)
    return MOST_DURATION_S


def _ballot(options: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "A vote.",
        "properties": {
            "choice": {"enum": list(options)},
            "reason": {"type": "string", "minLength": 1, "maxLength": 10_000},
        },
        "required": ["choice", "reason"],
        "additionalProperties": False,
    }


def _decision(others: Sequence[str]) -> dict[str, Any]:
    """Whoever can take over is named; without anybody there is nothing to reassign to."""
    agent = {"agent": {"enum": list(others), "description": "Who takes over, if it is reassigned."}} if others else {}
    return {
        "type": "object",
        "description": "What becomes of the failed stage.",
        "properties": {
            "decision": {"enum": ["retry", *(["reassign"] if others else []), "abort"]},
            **agent,
            "reason": {"type": "string", "maxLength": 2_000},
        },
        "required": ["decision", "reason"],
        "additionalProperties": False,
    }


def _developer_input(order: Order, goal: Goal) -> dict[str, Any]:
    return {
        "task_description": (order.ask or goal.goal)[:20_000],
        "constraints": {"scope": [], "testing_required": True},
    }


def _reviewer_input(sources: Sequence[Source], *, hurried: bool) -> dict[str, Any]:
    changes = [(one.data or {}).get("changes") or {} for one in sources]
    named = dict.fromkeys(str(file) for one in changes for files in one.values() for file in files)
    files = list(named)[:500] or ["the work in the context"]
    return {
        "review_scope": {"files": files} if hurried else {"files": files, "focus_areas": list(FOCUS)},
        "criteria": {"must_pass_tests": True, "must_pass_type_check": True},
    }
