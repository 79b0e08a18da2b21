"""Tasks and what belongs to them, as the graph shows them."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, any_, select

from app.auth.roles import Permission
from app.ids import Prefix
from app.tasks import models
from graphql_schema.conversations.reach import readable_letter, readable_of_task, readable_task
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, mapped, one
from graphql_schema.scalars import JSON, DateTime, Usd

_AGENTS = "graphql_schema.agents.types"
_HERE = "graphql_schema.tasks.types"


def _depends(waiting: Any, needed: Any) -> ColumnElement[bool]:
    """Whether one task waits for another's completion."""
    link = models.TaskDependency.__table__.alias()
    found = select(link.c.task_id).where(link.c.task_id == waiting.id, link.c.needs_id == needed.id)
    return found.correlate_except(link).exists()


@mapped(models.Task.__table__, prefix=Prefix.TASK, scope=readable_task)
@strawberry.type(
    description="Work of one agent: what another agent gave it, or its own work that Parley ordered. An agent's key "
    "does not see what others do for conversations in which that agent does not take part, nor for consultations that "
    "it neither asked for nor answers."
)
class Task(Node):
    title: str = column("A few words on what is wanted.", filter=True, order=True)
    type: models.TaskType = column("What kind of work it is.", filter=True, group=True)
    purpose: models.TaskPurpose = column("What it is for.", filter=True, group=True)
    status: models.TaskStatus = column("Where it stands.", filter=True, group=True)
    priority: models.TaskPriority = column("Which tasks go first.", filter=True, group=True)
    instructions: str = column("What to do, in detail.")
    context: str = column("What helps to understand it; may be empty.")
    expected_output: str = column("What the result should look like; may be empty.")
    input_artifacts: list[str] = column("References to what it works on, such as `memory:…` or `https://…`.")
    output_schema: JSON | None = column(
        "JSON Schema that its output must fit; null where its contract says so, or nothing does."
    )
    contract_input: JSON | None = column("What it is given as data, as its contract asks for; null without it.")
    max_tokens: int = column("How many tokens one attempt may use.", filter=True)
    max_tool_calls: int = column("How many tool calls one attempt may make.", filter=True)
    timeout_seconds: int = column("How long one attempt may take.", name="timeout_s", filter=True)
    model_tier: int | None = column("Tier of model, 0 to 2; null: the assignee's own.", filter=True, group=True)
    allowed_tools: list[str] | None = column("The tools that may be used; null: whichever the assignee has.")
    on_behalf_of: str = column("Who asked first: the key under which the first task was delegated.", filter=True)
    depth: int = column(
        "How many delegations led to it, 1 to 3; 0 for an agent's own work.", filter=True, group=True, aggregate=True
    )
    progress: str = column("What the agent last said of its progress; may be empty.")
    result: str | None = column("The result in words; null until completed.", filter=True)
    output: JSON | None = column(
        "The result as data; fits the contract where there is one. Null until completed, and where the agent gave none."
    )
    result_artifacts: list[str] = column("References to what was made.")
    error_code: str | None = column(
        "Why it did not complete, for programs; null: nothing went wrong.", filter=True, group=True
    )
    error: str | None = column(
        "Why it did not complete, for people; null: nothing went wrong.", name="error_message", filter=True
    )
    waiting_for: int = column("How many tasks, and questions to people, it still waits for.", filter=True)
    ready_at: DateTime = column("When it may be taken up, once it waits for nothing.", filter=True, order=True)
    attempts_made: int = column("How often it was taken up.", filter=True, order=True, aggregate=True)
    lease_until: DateTime | None = column("Until when its claim holds without a heartbeat; null unless in progress.")
    deadline: DateTime | None = column("When its present attempt times out; null unless in progress.")
    tokens_used: int = column("Tokens that its attempts used.", filter=True, order=True, aggregate=True)
    cost: Usd = column("What its own attempts cost, without the tasks below it.", filter=True, aggregate=True)
    claimed_cost: Usd = column(
        "What its agent reported beyond its budget, as long as no person has decided on it. It is in no budget.",
        filter=True, aggregate=True,
    )  # fmt: skip
    created_at: DateTime = column("When it was delegated.", filter=True, order=True, group=True, aggregate=True)
    started_at: DateTime | None = column(
        "When it was first taken up; null before.", filter=True, order=True, aggregate=True
    )
    ended_at: DateTime | None = column(
        "When it ended; null before.", name="finished_at", filter=True, order=True, aggregate=True
    )
    creator_id: strawberry.ID | None = column(
        "Who delegated it; null for an agent's own work.", prefix=Prefix.AGENT, filter=True, group=True
    )
    assignee_id: strawberry.ID = column("Who is to do it.", prefix=Prefix.AGENT, filter=True, group=True)
    collaboration_id: strawberry.ID | None = column(
        "The collaboration session that it belongs to; null: none.",
        prefix=Prefix.COLLABORATION, filter=True, group=True,
    )  # fmt: skip
    parent_id: strawberry.ID | None = column(
        "The task that it is part of; null for a first task.", prefix=Prefix.TASK, filter=True
    )
    root_id: strawberry.ID = column("The first task of its tree.", prefix=Prefix.TASK, filter=True)
    creator = one(
        "Agent", _AGENTS, "Who delegated it; null for an agent's own work.", nullable=True,
        on=lambda task, agent: agent.id == task.creator_id,
    )  # fmt: skip
    assignee = one("Agent", _AGENTS, "Who is to do it.", on=lambda task, agent: agent.id == task.assignee_id)
    parent = one(
        "Task", _HERE, "The task that it is part of; null for a first task.", nullable=True,
        on=lambda task, parent: parent.id == task.parent_id,
    )  # fmt: skip
    root = one(
        "Task", _HERE, "The first task of its tree, for a first task itself; null where an agent's key does not "
        "see it.", nullable=True, on=lambda task, root: root.id == task.root_id,
    )  # fmt: skip
    subtasks = many("Task", _HERE, "What its assignee delegated.", on=lambda task, sub: sub.parent_id == task.id)
    tree = many(
        "Task", _HERE, "All tasks of its tree, itself included.", on=lambda task, one: one.root_id == task.root_id
    )
    allowed_agents = many(
        "Agent", _AGENTS,
        "To whom work below it may be delegated: those named for it, or for a task above it; else all of the team.",
        on=lambda task, agent: task.allowed_agents.is_(None) | (agent.id == any_(task.allowed_agents)),
    )  # fmt: skip
    dependencies = many("Task", _HERE, "What it waits or waited for.", on=_depends)
    dependants = many("Task", _HERE, "What waits or waited for it.", on=lambda task, other: _depends(other, task))
    attempts = many(
        "TaskAttempt", _HERE, "Its runs, first one first.", on=lambda task, attempt: attempt.task_id == task.id
    )
    tool_calls = many(
        "ToolCall", _HERE, "The tool calls of all its attempts.", on=lambda task, call: call.task_id == task.id
    )
    dead_letters = many(
        "DeadLetter", _HERE, "How often it failed for good, and what became of that.",
        on=lambda task, letter: letter.task_id == task.id,
    )  # fmt: skip
    messages = many(
        "AgentMessage", "graphql_schema.messages.types", "What agents said in its channel, or elsewhere about it.",
        on=lambda task, message: message.task_id == task.id,
    )  # fmt: skip
    attention = many(
        "AttentionItem", "graphql_schema.attention.types", "What it asked people, and what it needed them for.",
        on=lambda task, item: item.task_id == task.id,
    )  # fmt: skip
    budget = one(
        "Budget", "graphql_schema.budgets.types", "What it and the tasks below it may cost.",
        on=lambda task, budget: budget.id == task.budget_id,
    )  # fmt: skip
    collaboration = one(
        "CollaborationSession", "graphql_schema.collaborations.types",
        "The collaboration session that it belongs to; null: none.", nullable=True,
        on=lambda task, session: session.id == task.collaboration_id,
    )  # fmt: skip
    contract = one(
        "Contract", "graphql_schema.contracts.types",
        "What it is given and must answer, in the version that it was delegated with; null without a contract.",
        nullable=True, on=lambda task, contract: contract.id == task.contract_id,
    )  # fmt: skip
    picked_because: str | None = column("Why this agent of the group does it; null unless it was given to a group.")
    group = one(
        "Group", "graphql_schema.groups.types", "The group that it was given to; null: to an agent.", nullable=True,
        on=lambda task, group: group.id == task.group_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", "graphql_schema.conversations.types",
        "The conversation that it is done for; null: none.",
        nullable=True, on=lambda task, conversation: conversation.id == task.conversation_id,
    )  # fmt: skip
    events = many(
        "Event", "graphql_schema.events.types", "What happened to it, as far back as retention goes.",
        on=lambda task, event: event.task_id == task.id, needs=Permission.READ_EVENTS,
    )  # fmt: skip


@mapped(models.TaskAttempt.__table__, prefix=Prefix.ATTEMPT, scope=readable_of_task)
@strawberry.type(description="One run of a task, under one claim.")
class TaskAttempt(Node):
    agent_id: strawberry.ID = column("Who worked.", prefix=Prefix.AGENT, filter=True, group=True)
    number: int = column("Counts the task's attempts, from 1.", filter=True, order=True)
    job_id: str | None = column(
        "The id of the arq job that ran it, `task:{task}:{number}`; null for an attempt of an external agent, and for "
        "one that a worker ran while Redis was away.",
        filter=True,
    )
    outcome: models.AttemptOutcome = column("How it ended.", filter=True, group=True)
    error_code: str | None = column("Why it failed, for programs; null unless it did.", filter=True, group=True)
    error: str | None = column("Why it failed, for people; null unless it did.", name="error_message", filter=True)
    model: str | None = column(
        "The model that worked, such as openai:gpt-5 or offline; null where nobody said.", filter=True, group=True
    )
    metadata: JSON | None = column(
        "What the run says of itself: whether its tokens were measured and its cost is known, and, of the offline "
        "model, that it is not a language model. Null where nothing was said."
    )
    tokens_used: int = column("Tokens that it used.", filter=True, order=True, aggregate=True)
    cost: Usd = column("What it cost.", filter=True, aggregate=True)
    claimed_cost: Usd = column("What its agent reported beyond the task's budget.", filter=True, aggregate=True)
    started_at: DateTime = column("When it began.", filter=True, order=True, group=True, aggregate=True)
    ended_at: DateTime | None = column("When it ended; null while it runs.", filter=True, order=True, aggregate=True)
    task = one("Task", _HERE, "Which task.", on=lambda attempt, task: task.id == attempt.task_id)
    agent = one("Agent", _AGENTS, "Who worked.", on=lambda attempt, agent: agent.id == attempt.agent_id)
    tool_calls = many(
        "ToolCall", _HERE, "Its tool calls, in order.", on=lambda attempt, call: call.attempt_id == attempt.id
    )


@mapped(models.ToolCall.__table__, prefix=Prefix.TOOL_CALL, scope=readable_of_task)
@strawberry.type(description="A tool that an agent called while it worked on a task.")
class ToolCall(Node):
    name: str = column("The tool's name.", filter=True, order=True, group=True)
    arguments: JSON = column("What it was called with.")
    result: str | None = column("What it answered; null when it failed.")
    error: str | None = column("Why it failed; null when it answered.", filter=True)
    started_at: DateTime = column("When it was called.", filter=True, order=True, group=True, aggregate=True)
    ended_at: DateTime | None = column("When it had answered or failed.", filter=True, order=True)
    task = one("Task", _HERE, "For which task.", on=lambda call, task: task.id == call.task_id)
    attempt = one("TaskAttempt", _HERE, "In which attempt.", on=lambda call, attempt: attempt.id == call.attempt_id)
    created_task = one(
        "Task", _HERE, "The task that the call delegated; null when it delegated none.", nullable=True,
        on=lambda call, task: task.id == call.created_task_id,
    )  # fmt: skip


@mapped(models.DeadLetter.__table__, prefix=Prefix.DEAD_LETTER, scope=readable_letter)
@strawberry.type(
    description="A task that failed for good and waits, or waited, for a person. An agent's key sees those of tasks "
    "that its agent gave or has, and of those below."
)
class DeadLetter(Node):
    reason: str = column("Why it failed for good.", filter=True)
    status: models.DeadLetterState = column("What became of it.", name="state", filter=True, group=True)
    created_at: DateTime = column("When the task failed for good.", filter=True, order=True, group=True, aggregate=True)
    resolved_at: DateTime | None = column("When a person resolved it; null while open.", filter=True, order=True)
    resolved_by: str | None = column(
        "The name of the key under which it was resolved; null while open.", filter=True, group=True
    )
    note: str | None = column("What that person noted; null: nothing.")
    task = one("Task", _HERE, "The task that failed.", on=lambda letter, task: task.id == letter.task_id)
    replay = one(
        "Task", _HERE, "The task that took its work up again; null unless replayed.", nullable=True,
        on=lambda letter, task: task.id == letter.replay_id,
    )  # fmt: skip


for _type in (Task, TaskAttempt, ToolCall, DeadLetter):
    publish_connection(_type)
