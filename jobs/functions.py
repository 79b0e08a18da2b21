"""Every function that arq runs, by name: the one place where a kind of job meets its function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.follow_ups.models import FollowUpKind
from app.tasks.queueing import EXECUTE_TASK, JOB_PREFIX
from jobs import attention, collaborations, consultations, conversations, handoffs, reports, tasks

Function = Callable[..., Awaitable[Any]]
FUNCTIONS: Mapping[str, Function] = {
    EXECUTE_TASK: tasks.execute_task,
    FollowUpKind.START_REPLY: conversations.start_reply,
    FollowUpKind.REPLY_TASK_ENDED: conversations.reply_task_ended,
    FollowUpKind.CONTRIBUTION_OVERDUE: conversations.contribution_overdue,
    FollowUpKind.STAGE_TASK_ENDED: collaborations.stage_task_ended,
    FollowUpKind.SESSION_DEADLINE: collaborations.session_deadline,
    FollowUpKind.REPORT_TASK_ENDED: reports.report_task_ended,
    FollowUpKind.CONSULTATION_TASK_STARTED: consultations.consultation_task_started,
    FollowUpKind.CONSULTATION_TASK_ENDED: consultations.consultation_task_ended,
    FollowUpKind.SPECIALIST_STOPPED: consultations.specialist_stopped,
    FollowUpKind.HANDOFF_DUE: handoffs.handoff_due,
    FollowUpKind.AGENT_STOPPED: handoffs.agent_stopped,
    FollowUpKind.ATTENTION_DUE: attention.attention_due,
}


def is_task(job_id: str) -> bool:
    return job_id.startswith(f"{JOB_PREFIX}:")


def function_name(job_id: str) -> str:
    """The function that a job with this id calls: ids are `task:{id}:{attempt}`, `{kind}:{id}:{failures}` and, of cron
    jobs, `cron:{name}:{time}`."""
    if is_task(job_id):
        return EXECUTE_TASK
    return job_id.rsplit(":", 1)[0] if job_id.startswith("cron:") else job_id.split(":", 1)[0]
