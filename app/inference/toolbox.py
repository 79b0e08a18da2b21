"""Offers a request's tools to pydantic-ai: checked before they are called, one at a time, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import ModelRetry, RunContext, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from app.inference.clean import clean
from app.inference.fit import problems
from app.inference.meter import Meter
from app.inference.request import Tool, ToolRefused

CORRECTIONS = 2  # times that a model is told what is wrong with its arguments before the run is given up
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class Toolbox(AbstractToolset[None]):
    def __init__(self, tools: Sequence[Tool], meter: Meter) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._meter = meter

    @property
    def id(self) -> str:
        return "parley"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {name: self._offered(tool) for name, tool in self._tools.items()}

    def _offered(self, tool: Tool) -> ToolsetTool[None]:
        definition = ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.parameters,
            sequential=True,  # the record's order is the order that the model asked for
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=CORRECTIONS, args_validator=_OBJECT)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        wanted, tool_args = self._tools[name], clean(tool_args)
        await self._meter.before_tool_call()
        if wrong := problems(wanted.parameters, tool_args):
            message = "The arguments do not fit: " + "; ".join(wrong)
            if wanted.misused is not None:
                await wanted.misused(tool_args, message)
            raise ModelRetry(message)
        try:
            return await wanted.call(tool_args)
        except ToolRefused as refusal:
            raise ToolFailed(str(refusal)) from None
