"""Puts what pydantic found in a team file into the words of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.agents.spec import AgentSpec, SkillSpec, TraitsSpec, problems_of, told
from app.collaborations.templates import SECTION, TemplateSeat, TemplateSpec
from app.errors import FieldProblem
from app.groups.spec import GroupSpec
from app.handoffs.spec import HandoffRuleSpec
from app.team_files.spec import TeamFile
from app.teams.flags import FeatureFlag
from app.teams.variables import VARIABLE_PATTERN

_KNOWN_FIELDS: dict[tuple[str, ...], Collection[str]] = {
    (): TeamFile.model_fields,
    ("agents",): AgentSpec.model_fields,
    ("agents", "skills"): SkillSpec.model_fields,
    ("agents", "traits"): TraitsSpec.model_fields,
    ("groups",): GroupSpec.model_fields,
    ("handoffs",): HandoffRuleSpec.model_fields,
    (SECTION,): TemplateSpec.model_fields,
    (SECTION, "participants"): TemplateSeat.model_fields,
    ("feature_flags",): [flag.value for flag in FeatureFlag],
}
_KEY = "[key]"  # pydantic's mark for a problem with a mapping's key instead of its value
_PLAIN_WORDS = {
    "missing": "is needed",
    "string_type": "must be text; put it in quotes if it is meant to be",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list; begin each entry with '- '",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "model_attributes_type": "must be a mapping of fields to values",
}


def findings(error: ValidationError) -> Iterator[FieldProblem]:
    for detail, problem in zip(told(error), problems_of(error), strict=True):
        if not _follows_from_name(detail):
            path = problem["path"].removesuffix("." + _KEY)
            yield FieldProblem("" if detail["loc"] == () else path, _words(detail, problem["message"]))


def suggestion(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word.replace("-", "_"), list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _follows_from_name(detail: ErrorDetails) -> bool:
    """A slug is missing only because the name is unusable, which is told by itself."""
    named = isinstance(detail["input"], dict) and isinstance(detail["input"].get("name"), str)
    return detail["type"] == "missing" and detail["loc"][-1] == "slug" and not named


def _words(detail: ErrorDetails, message: str) -> str:
    kind, names = detail["type"], tuple(part for part in detail["loc"] if isinstance(part, str) and part != _KEY)
    if kind == "extra_forbidden" or (names[:1] == ("feature_flags",) and detail["loc"][-1] == _KEY):
        return "is not a known field" + suggestion(names[-1], _KNOWN_FIELDS.get(names[:-1], ()))
    if kind == "missing" and names == ("agents", "slug"):
        return "is needed, because the name has no Latin letter to make it from"
    if kind in {"enum", "literal_error"}:
        return _choices(detail)
    if kind == "string_pattern_mismatch" and VARIABLE_PATTERN in message:
        return "may hold only lower-case letters, digits and underscores, and begins with no digit"
    if kind == "string_pattern_mismatch":
        return message if message.startswith("may hold") else "holds a character that cannot be stored"
    return _PLAIN_WORDS.get(kind, message.replace("Input should", "should").replace("String should", "should"))


def _choices(detail: ErrorDetails) -> str:
    given: Any = detail["input"]
    expected = detail.get("ctx", {}).get("expected", "").replace("'", "")
    hint = suggestion(given, expected.replace(" or ", ", ").split(", ")) if isinstance(given, str) else ""
    return f"must be {expected}, not '{str(given)[:80]}'{hint}"
