"""Counts what a run uses and ends it at its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from pydantic_ai.messages import ModelMessage, ModelResponse

from app.inference.failures import over_limit
from app.inference.pricing import FREE, price, rounded
from app.inference.request import Limits, Progress, Used
from app.inference.tokens import estimate
from app.observability import metrics


class Meter:
    """The totals of one run. `priced` and `measured` turn false when a price or a token count had to be guessed."""

    def __init__(self, limits: Limits, provider: str, progress: Progress) -> None:
        self.used = Used()
        self.priced = True
        self.measured = True
        self._limits = limits
        self._provider = provider
        self._progress = progress
        self._cost = Decimal(0)

    @property
    def tokens_left(self) -> int:
        return max(self._limits.max_tokens - self.used.tokens, 1)

    def before_request(self) -> None:
        if self.used.tokens >= self._limits.max_tokens:
            raise over_limit(f"{self._limits.max_tokens} tokens (maxTokens)", self.used)
        if self._provider not in FREE and self.used.cost >= self._limits.max_cost_usd:
            raise over_limit(f"{self._limits.max_cost_usd} US dollars (budgetUsd)", self.used)

    def broke_off(self, asked: Sequence[ModelMessage], response: ModelResponse) -> None:
        """A response that did not end has cost what was sent and what had come; nobody will say how much."""
        response.usage.input_tokens = estimate(asked)
        response.usage.output_tokens = estimate([response])
        self._add([*asked, response], response)
        self.measured = False
        self._progress.counted(self.used)

    async def after_response(self, messages: Sequence[ModelMessage], response: ModelResponse) -> None:
        """Adds it up and reports it, then refuses what is over a limit. `messages` are all up to the response."""
        self._add(messages, response)
        await self._progress.used(self.used)
        if self.used.tokens > self._limits.max_tokens:
            raise over_limit(f"{self._limits.max_tokens} tokens (maxTokens), {self.used.tokens} were used", self.used)
        if self.used.cost > self._limits.max_cost_usd:
            raise over_limit(
                f"{self._limits.max_cost_usd} US dollars (budgetUsd), {self.used.cost} were spent", self.used
            )
        if response.finish_reason == "length":
            raise over_limit(
                "the answer was cut off at the tokens that were left, or at the model's own most", self.used
            )

    def _add(self, messages: Sequence[ModelMessage], response: ModelResponse) -> None:
        tokens, cost = response.usage.total_tokens, price(self._provider, response)
        if not tokens:
            tokens, self.measured = estimate(messages), False
        self.priced &= cost is not None
        self._cost += cost or Decimal(0)
        self.used = replace(self.used, tokens=self.used.tokens + tokens, cost=rounded(self._cost))
        metrics.MODEL_TOKENS.labels(self._provider).inc(tokens)

    async def before_tool_call(self) -> None:
        if self.used.tool_calls >= self._limits.max_tool_calls:
            raise over_limit(f"{self._limits.max_tool_calls} tool calls (maxToolCalls)", self.used)
        self.used = replace(self.used, tool_calls=self.used.tool_calls + 1)
        await self._progress.used(self.used)
