"""What a plan may need at most, counted while it is compiled: a plan that is too large is given up half-way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.config import Settings, environment_name
from app.errors import LimitExceeded

TABLE_PARTS = 20  # an alias of a table with its columns and its scope takes as long as some twenty fields
MAX_PATTERN_CHARS = 200
MAX_ARGUMENT_CHARS = 2_000_000  # in all parameters of a statement: one variable may be used a thousand times


@dataclass(frozen=True, slots=True)
class PlanLimits:
    cost: int = 10_000
    parts: int = 1_500
    text_conditions: int = 10
    python_values: int = 4_000
    answer_bytes: int = 8_388_608
    introspection_values: int = 200_000

    @classmethod
    def of(cls, settings: Settings) -> PlanLimits:
        return cls(
            settings.max_cost,
            settings.max_plan_parts,
            settings.max_text_conditions,
            settings.max_python_values,
            settings.max_answer_bytes,
            settings.max_introspection_values,
        )


class PlanSize:
    """Counts the parts of one plan. A part takes about 50 µs to compile."""

    def __init__(self, limits: PlanLimits) -> None:
        self._limits = limits
        self.parts = self.text_conditions = 0

    def add(self, parts: int = 1) -> None:
        self.parts += parts
        if self.parts > self._limits.parts:
            raise LimitExceeded(
                f"The plan of this operation needs more than {self._limits.parts} parts: 1 for each field and filter "
                f"condition, {TABLE_PARTS} for each table, as often as it is read. Ask for its root fields one after "
                "the other, or filter by fewer conditions.",
                limit="planParts",
                value=self.parts,
                maximum=self._limits.parts,
                setting=environment_name("max_plan_parts"),
            )

    def add_text_condition(self) -> None:
        self.text_conditions += 1
        if self.text_conditions > self._limits.text_conditions:
            raise LimitExceeded(
                f"This operation searches texts by more than {self._limits.text_conditions} conditions contains, "
                "startsWith and match, counted for every page, count and aggregate that they filter. Use fewer.",
                limit="textConditions",
                value=self.text_conditions,
                maximum=self._limits.text_conditions,
                setting=environment_name("max_text_conditions"),
            )


class AnswerSize:
    """Adds up what the statements of one operation return, where Python puts the answer together."""

    __slots__ = ("_limits", "bytes", "values")

    def __init__(self, limits: PlanLimits) -> None:
        self._limits = limits
        self.bytes = self.values = 0

    def add(self, body: bytes) -> int:
        """How many values a statement's answer has; raises LimitExceeded when all together are too many."""
        values = body.count(b'":') + body.count(b'" :')
        self.bytes += len(body)
        self.values += values
        if self.bytes > self._limits.answer_bytes:
            raise answer_too_large(self.bytes, self._limits.answer_bytes)
        if self.values > self._limits.python_values:
            raise too_many_values(self.values, self._limits.python_values)
        return values


def too_many_values(value: int, maximum: int) -> LimitExceeded:
    return LimitExceeded(
        f"The answer has {value} values and Python has to put it together, because the operation is a mutation or asks "
        f"for a field that Python computes; such an answer may have {maximum}. Ask for that field in an operation of "
        "its own, or for smaller pages with first and after.",
        limit="pythonValues",
        value=value,
        maximum=maximum,
        setting=environment_name("max_python_values"),
    )


def argument_chars(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(argument_chars, value)) if isinstance(value, list) else 0


def arguments_too_large(value: int) -> LimitExceeded:
    return LimitExceeded(
        f"The values of this operation's arguments have more than {MAX_ARGUMENT_CHARS} characters, counted as often as "
        "they are used. Use long values in fewer places.",
        limit="argumentChars",
        value=value,
        maximum=MAX_ARGUMENT_CHARS,
    )


def answer_too_large(value: int, maximum: int) -> LimitExceeded:
    return LimitExceeded(
        f"The answer has {value} bytes; at most {maximum} are allowed. Read it in parts: ask for smaller pages with "
        "first and after, leave out long texts and read them from single objects by their ids, or export the whole "
        "connection from /export.",
        limit="answerBytes",
        value=value,
        maximum=maximum,
        setting=environment_name("max_answer_bytes"),
    )
