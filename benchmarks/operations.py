"""The three reads as requests for each kind of contender, and the form in which their answers are compared."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from benchmarks.seed import slug

SINGLE, PAGE, GROUPS = "single object", "nested page of 50", "grouped aggregate"
OPERATIONS = (SINGLE, PAGE, GROUPS)
ROWS = 50
SINGLE_AGENTS = 200  # different objects, requested in turn
_AGENT = "id slug name status modelTier skills { name description }"

GRAPHQL = {
    SINGLE: "query Single($slug: String!) { agent(slug: $slug) { id slug name tagline role status type modelTier } }",
    PAGE: "query Page($first: Int!) { team { id name handoffRules(first: $first) { nodes { id condition priority "
    f"fromAgent {{ {_AGENT} }} toAgent {{ {_AGENT} }} }} pageInfo {{ hasNextPage }} }} }} }}",
    GROUPS: "query Groups { agents { groupedAggregates(groupBy: [STATUS, TYPE], first: 50) { "
    "key { status type } count modelTier { mean max } } } }",
}
# Parley's groups have a connection around them; the others return the list itself.
PARLEY_GRAPHQL = GRAPHQL | {
    GROUPS: "query Groups { agents { groupedAggregates(groupBy: [STATUS, TYPE], first: 50) { groups { "
    "key { status type } count modelTier { mean max } } } } }",
}
# PostGraphile derives its names from the tables; aliases give its answers the same form.
_ROW = "id: rowId slug name status modelTier skills: agentSkillsByTeamIdAndAgentIdList { name description }"
POSTGRAPHILE = {
    SINGLE: "query Single($team: UUID!, $slug: String!) { agent: agentByTeamIdAndSlug(teamId: $team, slug: $slug) "
    "{ id: rowId slug name tagline role status type modelTier } }",
    PAGE: 'query Page($first: Int!) { team: teamBySlug(slug: "bench") { id: rowId name handoffRules: '
    "handoffRulesByTeamId(first: $first, orderBy: PRIMARY_KEY_ASC) { nodes { id: rowId condition priority "
    f"fromAgent: agentByTeamIdAndFromAgentId {{ {_ROW} }} toAgent: agentByTeamIdAndToAgentId {{ {_ROW} }} }} "
    "pageInfo { hasNextPage } } } }",
    GROUPS: "query Groups { agents: allAgents { groupedAggregates(groupBy: [STATUS, TYPE]) { "
    "keys distinctCount { rowId } average { modelTier } max { modelTier } } } }",
}


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    path: str
    body: bytes = b""


def graphql_calls(operation: str, texts: dict[str, str], path: str, **constants: str) -> list[Call]:
    def call(**variables: Any) -> Call:
        body = {"query": texts[operation], "variables": constants | variables}
        return Call("POST", path, json.dumps(body).encode())

    if operation == SINGLE:
        return [call(slug=slug(number)) for number in range(SINGLE_AGENTS)]
    return [call(first=ROWS)] if operation == PAGE else [call()]


def plain_calls(operation: str) -> list[Call]:
    """Returns the requests for the hand-written endpoint, which has a path for each read."""
    if operation == SINGLE:
        return [Call("GET", f"/agents/{slug(number)}") for number in range(SINGLE_AGENTS)]
    return [Call("GET", f"/page?first={ROWS}")] if operation == PAGE else [Call("GET", "/groups")]


def comparable(operation: str, answer: Any) -> Any:
    """Returns an answer without permitted differences: the form of ids, the case of enums, the order of groups."""
    data = _normalize(answer["data"])
    if operation == GROUPS:
        aggregates = data["agents"]["groupedAggregates"]
        groups = aggregates["groups"] if isinstance(aggregates, dict) else aggregates
        data["agents"]["groupedAggregates"] = sorted(map(_group, groups))
    return data


def _group(group: dict[str, Any]) -> list[Any]:
    if "key" in group:
        key, count, tier = group["key"], group["count"], group["modeltier"]
        return [key["status"], key["type"], count, round(float(tier["mean"]), 9), tier["max"]]
    mean = round(float(group["average"]["modeltier"]), 9)
    return [*group["keys"], int(group["distinctcount"]["rowid"]), mean, group["max"]["modeltier"]]


def _normalize(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key if key in {"agents", "groupedAggregates"} else key.lower(): _normalize(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    if isinstance(value, str):
        text = re.sub(r"^(agent|team|rule)_(?=[0-9a-f]{32}$)", "", value.lower())
        return text.replace("-", "") if re.fullmatch(r"[0-9a-f-]{36}", text) else text
    return value
