"""What a run of a managed agent is asked, may use, reports on the way and answers. Plain values, no library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from app.inference.prompt import Assignment

OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use in all. Time is the caller's, by cancelling the run."""

    max_tokens: int
    max_tool_calls: int
    max_cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class Used:
    """What a run has used so far. Tokens count both ways, what is sent and what is answered."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    tool_calls: int = 0


class ToolRefused(Exception):
    """A tool's answer is no; the model is told the message and goes on."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON Schema of an object; `call` is given only arguments that fit it, `misused` is told of
    others and of what is wrong with them.

    What `call` raises, other than ToolRefused, ends the run and reaches the caller of `run` as it is.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[[dict[str, Any]], Awaitable[str]]
    misused: Callable[[dict[str, Any], str], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """`model` is `offline` or `provider:name`. With an `output_schema` the answer is an object that fits it.

    `output_check` names what does not fit, each problem as `field: what is wrong`; without one the schema itself is
    asked, which is for schemas that we wrote: a stranger's may hold patterns that take for ever.
    The offline model works from `facts` and leaves instructions and prompt to the language models.
    """

    model: str
    instructions: str
    prompt: str
    limits: Limits
    facts: Assignment
    tools: Sequence[Tool] = ()
    output_schema: dict[str, Any] | None = None
    output_check: Callable[[dict[str, Any]], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`metadata` says where the answer comes from: the provider, whether it was priced, whether it was offline."""

    text: str
    output: dict[str, Any] | None
    used: Used
    model: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Progress(Protocol):
    """Told while the run goes on, and awaited: a slow listener slows the run down."""

    async def text(self, partial: str) -> None:
        """The whole text of the current response so far, at every piece that arrives."""

    def counted(self, used: Used) -> None:
        """The totals when a response broke off, whatever broke it. Must not wait."""

    async def used(self, used: Used) -> None:
        """The totals, after every response of the model and before every tool call."""
