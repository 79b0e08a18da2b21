"""Tells a session, or one agent's run, as a MultiAgentSession document: see docs/multi-agent-session.schema.json.

Pure but for the rows that it is given.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from app.collaborations.models import CollaborationPattern, CollaborationStage, StageKind
from app.collaborations.record import Record, agent_name, moment
from app.ids import Prefix, to_global
from app.tasks.models import Task, TaskPriority, TaskStatus, ToolCall

MOST_TEXT = 20_000  # characters of each text in the document; the graph has the whole of it
_PATTERNS = {
    CollaborationPattern.SUPERVISOR_WORKER: "master_worker",
    CollaborationPattern.BRAINSTORM: "peer_to_peer",
}
_TYPES = {"lead": "architect", "worker": "developer", "reviewer": "reviewer", "contributor": "contributor"}
_PRIORITIES = {TaskPriority.LOW: "low", TaskPriority.NORMAL: "medium"}
_MESSAGES = {
    "task_request": "task_assignment",
    "task_result": "task_completion",
    "task_status": "status_update",
    "collab_update": "status_update",
    "notification": "status_update",
    "review_request": "review_request",
    "review_result": "review_result",
}  # every other one is feedback
_PARLEY = {"agent_id": "parley", "agent_type": "architect"}


def session_trace(record: Record) -> dict[str, Any]:
    """A session as the lead's run: each stage is a call that it made, and each call has a session of its own below."""
    row = record.session
    assert row is not None
    lead = _agent(record, row.lead_id) if row.lead_id else _PARLEY
    name = to_global(Prefix.COLLABORATION, row.id)
    first = [task for task in record.tasks if record.stage_of(task)]
    return {
        "session_id": name,
        "agent": lead,
        "user_request": _cut(row.goal),
        "started_at": moment(row.created_at),
        "completed_at": moment(row.finished_at),
        "status": row.status.value,
        "error": row.error_message,
        "output": _cut(row.result),
        "tool_calls": [_stage_call(record, stage) for stage in record.stages],
        "collaboration": {
            "mode": "multi_agent",
            "pattern": _PATTERNS.get(row.pattern, row.pattern.value),
            "orchestrator": lead,
            "participants": [_agent(record, seat.agent_id) for seat in record.seats],
        },
        "sub_sessions": [
            *(_sub_session(record, task, name) for task in first),
            *(_sub_session(record, task, name) for task in record.tasks if task not in first),
        ],
        "messages": _conversation(record, lead),
    }


def task_trace(record: Record) -> dict[str, Any]:
    """One agent's run is a session, too; what it delegated stands below it."""
    task, *below = record.tasks
    agent = _agent(record, task.assignee_id)
    name = to_global(Prefix.TASK, task.id)
    return {
        "session_id": name,
        "agent": agent,
        "user_request": _cut(task.instructions),
        "started_at": moment(task.started_at or task.created_at),
        "completed_at": moment(task.finished_at),
        "status": _status(task),
        "error": task.error_message,
        "output": _cut(task.result),
        "tool_calls": [_call(record, call) for call in record.calls.get(task.id, ())],
        "collaboration": {
            "mode": "multi_agent" if below else "single",
            "pattern": "master_worker",
            "orchestrator": agent,
            "participants": [_agent(record, one) for one in dict.fromkeys(found.assignee_id for found in record.tasks)],
        },
        "sub_sessions": [_sub_session(record, one, name) for one in below],
        "messages": [],
    }


def _agent(record: Record, agent_id: UUID) -> dict[str, Any]:
    known = record.agents.get(agent_id)
    return {
        "agent_id": known.slug if known else agent_name(agent_id),
        "agent_type": _TYPES[record.role_of(agent_id)],
        "instance_id": agent_name(agent_id),
    }


def _sub_session(record: Record, task: Task, session: str) -> dict[str, Any]:
    stage, cause = record.stage_of(task), record.cause_of(task)
    above = record.task_name(task.parent_id) or session
    caller = to_global(Prefix.TOOL_CALL, cause.id) if cause else None
    return {
        "sub_session_id": to_global(Prefix.TASK, task.id),
        "parent_session_id": above,
        "agent": _agent(record, task.assignee_id),
        "task": {
            "task_id": to_global(Prefix.TASK, task.id),
            "description": _cut(task.instructions),
            "priority": _PRIORITIES.get(task.priority, "high"),
            "dependencies": [to_global(Prefix.TASK, one) for one in record.needs.get(task.id, ())],
        },
        "started_at": moment(task.started_at or task.created_at),
        "completed_at": moment(task.finished_at),
        "status": _status(task),
        "tool_calls": [_call(record, call) for call in record.calls.get(task.id, ())],
        "output": _output(task),
        "triggered_by_call_id": to_global(Prefix.STAGE, stage.id) if stage else caller or above,
    }


def _status(task: Task) -> str:
    return "running" if task.status is TaskStatus.IN_PROGRESS else task.status.value


def _output(task: Task) -> dict[str, Any] | None:
    """As data where the task gave some, else in words."""
    if task.output is not None:
        return task.output
    said = task.result or task.progress
    return {"summary": _cut(said), "status": _status(task)} if said else None


def _call(record: Record, call: ToolCall) -> dict[str, Any]:
    return {
        "call_id": to_global(Prefix.TOOL_CALL, call.id),
        "tool_name": call.name,
        "input": call.arguments,
        "output": _cut(call.result),
        "error": _cut(call.error),
        "started_at": moment(call.started_at),
        "completed_at": moment(call.ended_at),
        "sub_session_id": record.task_name(call.created_task_id),
    }


def _stage_call(record: Record, stage: CollaborationStage) -> dict[str, Any]:
    return {
        "call_id": to_global(Prefix.STAGE, stage.id),
        "tool_name": "Task",
        "input": {"stage": stage.name, "kind": stage.kind.value, "round": stage.round, "attempt": stage.attempt},
        "output": _cut(stage.output) or None,
        "error": _cut(stage.error_message),
        "started_at": moment(stage.started_at),
        "completed_at": moment(stage.ended_at),
        "sub_session_id": record.task_name(stage.task_id),
    }


def _conversation(record: Record, lead: dict[str, Any]) -> list[dict[str, Any]]:
    """What the stages said to the lead and what was said in the session's channel, by time."""
    spoken = [message for stage in record.stages for message in _messages(record, stage, lead)]
    spoken += [
        {
            "message_id": to_global(Prefix.AGENT_MESSAGE, said.id),
            "timestamp": moment(said.at),
            "from_agent": _agent(record, said.sender_id),
            "to_agent": lead,
            "message_type": _MESSAGES.get(said.type, "feedback"),
            "content": {"body": said.body},
            "related_task_id": record.task_name(said.task_id),
        }
        for said in record.messages
    ]
    return sorted(spoken, key=lambda message: str(message["timestamp"]))


def _messages(record: Record, stage: CollaborationStage, lead: dict[str, Any]) -> list[dict[str, Any]]:
    """What a stage says between agents: the request, and the answer once there is one."""
    reviewing = stage.kind is StageKind.REVIEW
    agent, name = _agent(record, stage.agent_id), to_global(Prefix.STAGE, stage.id)
    task = record.task_name(stage.task_id)
    asked = {
        "message_id": f"{name}-request",
        "timestamp": moment(stage.started_at),
        "from_agent": lead,
        "to_agent": agent,
        "message_type": "review_request" if reviewing else "task_assignment",
        "content": {"stage": stage.name, "round": stage.round},
        "related_task_id": task,
    }
    if stage.ended_at is None:
        return [asked]
    answered = {
        "message_id": f"{name}-answer",
        "timestamp": moment(stage.ended_at),
        "from_agent": agent,
        "to_agent": lead,
        "message_type": "review_result" if reviewing else "task_completion",
        "content": stage.data or {"status": stage.status.value, "summary": _cut(stage.output)},
        "related_task_id": task,
    }
    return [asked, answered]


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
