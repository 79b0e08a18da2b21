"""Reads a team file and names every problem in it with its line; whether it fits the team is for the plan to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.errors import FieldProblem, InvalidInput
from app.handoffs.spec import ANY_AGENT, PREVIOUS_AGENT, HandoffRuleSpec, problems_with
from app.team_files.places import WHOLE_FILE, Places
from app.team_files.problems import findings, suggestion
from app.team_files.slugs import slug_from
from app.team_files.spec import TeamFile, agent_reference
from app.team_files.syntax import MAX_BYTES, Document, read

MOST_PROBLEMS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ParsedFile:
    file: TeamFile
    places: Places

    def refuse(self, problems: list[FieldProblem]) -> None:
        """Raises InvalidInput if there are any, with their lines."""
        if problems:
            raise refusal(self.places.located(problems))


def parse(text: str) -> ParsedFile:
    """Raises InvalidInput with all problems found, not only the first."""
    size = len(text.encode(errors="replace"))
    if size > MAX_BYTES:
        raise refusal([FieldProblem(WHOLE_FILE, f"is {size} bytes long; at most {MAX_BYTES} are taken", 1)])
    document = read(text)
    if document.broken:
        raise refusal(document.places.located(document.problems))
    if not isinstance(document.data, dict):
        raise refusal([FieldProblem(WHOLE_FILE, _no_mapping(document.data), document.places.line(""))])
    return _validated(document.data, document)


def refusal(problems: list[FieldProblem]) -> InvalidInput:
    count = len(problems)
    told = problems[:MOST_PROBLEMS_SHOWN]
    where = f"line {told[0]['line']}, {told[0]['path']}: {told[0]['message']}"
    more = "" if count == 1 else f" ({count} problems in all)"
    return InvalidInput(f"The team file was not applied: {where}{more}", told)


def _validated(data: dict[str, Any], document: Document) -> ParsedFile:
    places = document.places
    file, problems = None, [*document.problems, *_misfits(data, places)]
    try:
        file = TeamFile.model_validate(data)
    except ValidationError as error:
        problems += findings(error)
    if file is None or problems:
        raise refusal(places.located(problems))
    return ParsedFile(file, places)


def _misfits(data: dict[str, Any], places: Places) -> Iterator[FieldProblem]:
    """Where parts of the file contradict each other. Looks at raw values, to be told along with wrong fields."""
    slugs = dict(_slugs(data))
    first: dict[str, str] = {}
    for path, slug in slugs.items():
        if first.setdefault(slug, path) != path:
            words = f"'{slug}' is already the slug of the agent on line {places.line(first[slug])}"
            yield FieldProblem(f"{path}.slug", words)
    default = agent_reference(data.get("default_agent"))
    if isinstance(default, str) and default not in first:
        yield FieldProblem("default_agent", f"there is no agent '{default}' in this file{suggestion(default, first)}")
    yield from _rule_misfits(data, set(first))


def _slugs(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for index, agent in enumerate(_entries(data, "agents")):
        given = agent.get("slug") if isinstance(agent, dict) else None
        name = agent.get("name") if isinstance(agent, dict) else None
        slug = given or (slug_from(name) if isinstance(name, str) else None)
        if isinstance(slug, str) and slug:
            yield f"agents.{index}", slug


def _rule_misfits(data: dict[str, Any], slugs: set[str]) -> list[FieldProblem]:
    """Variables and groups are for the plan to look at: the team may have some that the file does not
    mention."""
    rules = [_rule(position, fields) for position, fields in enumerate(_entries(data, "handoffs"))]
    return problems_with(rules, slugs=slugs, variables=None, groups=None)


def _rule(position: int, fields: Any) -> HandoffRuleSpec:
    """The rule as far as it can be read; a missing or wrong field, told by itself, gives way to a harmless one."""
    fields = fields if isinstance(fields, dict) else {}
    given = {name: value for name, value in fields.items() if isinstance(value, str)}
    return HandoffRuleSpec.model_construct(
        from_agent=agent_reference(given.get("from_agent", ANY_AGENT)),
        to_agent=agent_reference(given.get("to_agent", None if "to_group" in given else PREVIOUS_AGENT)),
        to_group=agent_reference(given.get("to_group")),
        condition=given.get("condition", "").strip() or f"rule {position}",
    )


def _entries(data: dict[str, Any], section: str) -> list[Any]:
    found = data.get(section)
    return found if isinstance(found, list) else []


def _no_mapping(data: Any) -> str:
    return "is empty" if data is None else "must be a mapping that begins with the team's name, such as `name: Writers`"
