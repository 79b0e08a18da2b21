"""Parley's own model, for installations without one: deterministic, offline, and not a language model.

It speaks pydantic-ai's protocol, so tools, limits, streaming and contracts take the same way as with any other.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_ai import ModelProfile, RunContext, ToolDefinition
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from app.clock import now
from app.inference.failures import InferenceFailed, Sort
from app.inference.offline.directives import Call, Directives, read
from app.inference.offline.material import Material
from app.inference.offline.report import write_report
from app.inference.offline.script import scripted_reply
from app.inference.offline.shape import Shape
from app.inference.offline.templates import write
from app.inference.prompt import Assignment, Source
from app.inference.request import OFFLINE
from app.inference.tokens import estimate

NOTE = "Answered by Parley's offline model, which selects and condenses by rules. It is not a language model."
_DELEGATE, _FOLLOW = "delegate_task", "check_task_status"
_TASK_ID = re.compile(r"task_[0-9a-f]{32}")
_PATIENCE_S = 300  # for what it has delegated; its own time may end before
_AGENT_NAMES = ("assignee", "agent", "to", "to_agent", "assignee_slug", "agent_slug", "recipient")
_WORK_NAMES = ("instructions", "task", "message", "content", "work", "description")


class OfflineModel(Model[None]):
    def __init__(self, task: Assignment) -> None:
        super().__init__(profile=ModelProfile(supports_inline_system_prompts=True))  # it need not be told of any
        self._task = task
        self._reply = scripted_reply(task)
        plain = Directives(task.instructions, wait_s=self._reply.wait_s if self._reply else 0.0)
        self._told: Directives = read(task.instructions) if task.obeys_directives else plain

    @property
    def model_name(self) -> str:
        return OFFLINE

    @property
    def system(self) -> str:
        return OFFLINE

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        first = not any(isinstance(message, ModelResponse) for message in messages)
        parts = self._parts(messages, model_request_parameters)
        yield _Stream(
            model_request_parameters=model_request_parameters,
            parts=parts,
            told=self._told if first else Directives(""),
            counted=RequestUsage(
                input_tokens=estimate(_unread(messages)), output_tokens=estimate([ModelResponse(parts=parts)])
            ),
        )

    def _parts(self, messages: Sequence[ModelMessage], offered: ModelRequestParameters) -> list[ModelResponsePart]:
        """The next tool that it was told to call, one a response; what became of what it delegated; then the answer."""
        tools = {tool.name: tool for tool in offered.function_tools}
        results = [(name, text) for name, text in _results(messages) if name in tools]
        wanted = [call for call in self._told.calls if call.tool in tools]
        material = Material(self._task, self._told.text, [Source(name, text) for name, text in results])
        if len(results) < len(wanted):
            call = wanted[len(results)]
            return [_call(call.tool, len(results), _arguments(call, tools[call.tool], material))]
        if (pending := _delegated(results)[len(results) - len(wanted) :]) and _FOLLOW in tools:
            return [_call(_FOLLOW, len(results), {"task_id": pending[0], "wait_seconds": _PATIENCE_S})]
        options = self._told.options or tuple(self._task.options)
        absent = [f"The tool {call.tool} is not offered here." for call in self._told.calls if call.tool not in tools]
        parts: list[ModelResponsePart] = [TextPart(self._text(material, options, absent))]
        if offered.output_tools:
            form = offered.output_tools[0]
            filled = Shape(form.parameters_json_schema, material, options).fill()
            parts.append(_call(form.name, len(messages), filled))
        return parts

    def _text(self, material: Material, options: Sequence[str], notes: Sequence[str]) -> str:
        if self._task.outline is not None:
            return write_report(material, self._task.outline)
        said = self._reply.say if self._reply else ""
        return said or write(material, options, notes)


@dataclass
class _Stream(StreamedResponse):
    parts: list[ModelResponsePart] = field(kw_only=True)
    told: Directives = field(kw_only=True)
    counted: RequestUsage = field(kw_only=True)
    begun: datetime = field(default_factory=now)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        """Line by line. What it was told to wait for comes after the first line, so that a wait shows progress."""
        waited = False
        for place, part in enumerate(self.parts):
            for piece in part.content.splitlines(keepends=True) if isinstance(part, TextPart) else ():
                for event in self._parts_manager.handle_text_delta(vendor_part_id=place, content=piece):
                    yield event
                if not waited:
                    waited = await self._obey()
            if isinstance(part, ToolCallPart):
                waited = waited or await self._obey()
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=place,
                    tool_name=part.tool_name,
                    args=part.args_as_dict(),
                    tool_call_id=part.tool_call_id,
                )
        self._usage = self.counted
        self.finish_reason = "stop"

    async def _obey(self) -> bool:
        if self.told.wait_s:
            await asyncio.sleep(self.told.wait_s)
        if self.told.fail:
            sort, why = self.told.fail
            raise InferenceFailed("TOLD_TO_FAIL", why, Sort(sort), retry_after_s=1.0 if sort == Sort.WAIT else None)
        return True

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        return OFFLINE

    @property
    def provider_name(self) -> str:
        return OFFLINE

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.begun


def _unread(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """What came since its last answer: unlike a language model it does not read the whole again."""
    answered = [place for place, message in enumerate(messages) if isinstance(message, ModelResponse)]
    return messages[answered[-1] + 1 :] if answered else messages


def _results(messages: Sequence[ModelMessage]) -> list[tuple[str, str]]:
    """What the tools answered so far, refusals too."""
    return [
        (part.tool_name, part.model_response_str())
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def _delegated(results: Sequence[tuple[str, str]]) -> list[str]:
    """The tasks that it has delegated, in order."""
    answers = [text for name, text in results if name == _DELEGATE]
    return [found.group() for text in answers if (found := _TASK_ID.search(text))]


def _call(name: str, number: int, arguments: dict[str, Any]) -> ToolCallPart:
    return ToolCallPart(name, arguments, tool_call_id=f"call-{number}-{name}")


def _arguments(call: Call, tool: ToolDefinition, material: Material) -> dict[str, Any]:
    if call.hints is None:
        return call.arguments or {}
    agent, work = call.hints["agent"], call.hints["work"]
    hints = dict.fromkeys(_AGENT_NAMES, agent) | dict.fromkeys(_WORK_NAMES, work) | {"title": work[:200]}
    return Shape(tool.parameters_json_schema, material).arguments(hints, work)
