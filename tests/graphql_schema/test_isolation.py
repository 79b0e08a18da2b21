"""Nothing crosses teams: every field that takes an id is tried with every id of another team, by every role.

The fields are found by walking the schema, so that a new one is tried without anybody remembering it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    Undefined,
    get_named_type,
    is_composite_type,
    is_required_argument,
    is_required_input_field,
)

from app.auth.roles import Role
from app.config import Settings
from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.one_of_each import conversation_ids, foreign_ids
from tests.fixtures.parley import Parley, TeamKit

CORE = schema._schema
SAMPLES: dict[str, Any] = {
    "String": "x", "Int": 1, "Float": 0.5, "Boolean": True, "DateTime": "2099-01-01T00:00:00Z", "JSON": {},
    "Cursor": "x", "Usd": 0.1,
}  # fmt: skip
MANY_POINTS = 1_000_000
NO_SUCH_THING = {"NOT_FOUND", "FORBIDDEN", "INVALID_INPUT"}
FOUND_NOTHING = (None, [], [None])


@pytest.fixture
def parley_settings(parley_settings: Settings) -> Settings:
    """Every field with every id is more than a key may ask for in a minute."""
    return parley_settings.model_copy(update={"rate_limit_points": MANY_POINTS})


def takes_id(of: GraphQLInputType, seen: tuple[str, ...] = ()) -> bool:
    named = get_named_type(of)
    if isinstance(named, GraphQLInputObjectType):
        inner = [field.type for field in named.fields.values()]
        return named.name not in seen and any(takes_id(field, (*seen, named.name)) for field in inner)
    return named.name == "ID"


def filled(of: GraphQLInputType, foreign: str) -> Any:
    """A value of this type, with the foreign id wherever an id fits; recursion ends at what is not required."""
    if isinstance(of, GraphQLNonNull):
        return filled(of.of_type, foreign)
    if isinstance(of, GraphQLList):
        return [filled(of.of_type, foreign)]
    if isinstance(of, GraphQLInputObjectType):
        wanted = {
            name: field
            for name, field in of.fields.items()
            if is_required_input_field(field) or get_named_type(field.type).name in {"ID", "IDComparison"}
        }
        return {name: filled(field.type, foreign) for name, field in wanted.items()}
    if isinstance(of, GraphQLEnumType):
        return next(iter(of.values))
    return foreign if of.name == "ID" else SAMPLES[of.name]


def root_operations(
    root: GraphQLObjectType | None, verb: str, foreign: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, document and variables of every root field that takes an id."""
    assert root is not None
    for name, field in root.fields.items():
        if not any(takes_id(argument.type) for argument in field.args.values()):
            continue
        given = {
            key: argument
            for key, argument in field.args.items()
            if is_required_argument(argument) or takes_id(argument.type)
        }
        declared = ", ".join(f"${key}: {argument.type}" for key, argument in given.items())
        passed = ", ".join(f"{key}: ${key}" for key in given)
        named = get_named_type(field.type)
        selection = selected(named) if is_composite_type(named) else ""
        variables = {key: filled(argument.type, foreign) for key, argument in given.items()}
        yield name, f"{verb} ({declared}) {{ {name}({passed}) {selection} }}", variables


def selected(of: Any) -> str:
    if of.name.endswith("Connection"):
        return "{ __typename nodes { __typename id } totalCount }"
    if of.name.endswith("Result"):
        return "{ __typename ... on Refusal { code message } }"
    return "{ __typename ... on Node { id } }" if of.name == "Node" else "{ __typename }"


async def fingerprint(parley: Parley, team: TeamKit) -> Any:
    """Everything that the team owns."""
    return await parley.value(
        """select md5(concat(
            (select json_agg(t)::text from team t where id = $1),
            (select json_agg(a order by a.id)::text from agent a where team_id = $1),
            (select json_agg(k order by k.id)::text from api_key k where team_id = $1),
            (select json_agg(r order by r.id)::text from handoff_rule r where team_id = $1),
            (select json_agg(t order by t.id)::text from task t where team_id = $1),
            (select json_agg(c order by c.id)::text from contract c where team_id = $1),
            (select json_agg(d order by d.id)::text from dead_letter d where team_id = $1),
            (select json_agg(b order by b.id)::text from budget_account b where team_id = $1),
            (select json_agg(d order by d.id)::text from routing_decision d where team_id = $1),
            (select json_agg(p order by p.id)::text from routing_policy p where team_id = $1),
            (select json_agg(r order by r.id)::text from routing_rating r where team_id = $1),
            (select json_agg(c order by c.id)::text from collaboration c where team_id = $1),
            (select json_agg(s order by s.id)::text from collaboration_stage s where team_id = $1),
            (select json_agg(p order by p.id)::text from collaboration_participant p where team_id = $1),
            (select json_agg(r order by r.id)::text from report r where team_id = $1),
            (select json_agg(c order by c.id)::text from conversation c where team_id = $1),
            (select json_agg(p order by p.id)::text from conversation_participant p where team_id = $1),
            (select json_agg(m order by m.id)::text from message m where team_id = $1),
            (select json_agg(r order by r.id)::text from reply r where team_id = $1),
            (select json_agg(c order by c.id)::text from contribution c where team_id = $1),
            (select json_agg(m order by m.id)::text from memory m where team_id = $1),
            (select json_agg(g order by g.id)::text from agent_group g where team_id = $1),
            (select json_agg(m order by m.id)::text from agent_message m where team_id = $1),
            (select json_agg(e order by e.id)::text from inbox_entry e where team_id = $1),
            (select json_agg(i order by i.id)::text from attention_item i where team_id = $1),
            (select json_agg(s order by s.id)::text from attention_step s where team_id = $1),
            (select json_agg(c order by c.id)::text from consultation c where team_id = $1),
            (select json_agg(e order by e.id)::text from consultation_exchange e where team_id = $1),
            (select json_agg(l order by l.id)::text from consultation_loop l where team_id = $1),
            (select count(*) from event where team_id = $1)))""",
        team.id,
    )


async def test_no_query_or_mutation_reaches_another_team(parley: Parley) -> None:
    other_id = (await parley.run("{ team { id } }", secret=parley.other.secrets[Role.ADMIN]))["team"]["id"]
    foreign_things = await foreign_ids(parley, parley.other, other_id)
    before = await fingerprint(parley, parley.other)
    tried, no_form = set(), set()

    for role in sorted(Role, key=lambda role: role is not Role.ADMIN):
        for foreign in foreign_things:
            for root, verb in ((CORE.query_type, "query"), (CORE.mutation_type, "mutation")):
                for name, document, variables in root_operations(root, verb, foreign):
                    if (name, foreign) in no_form:  # not even an admin could ask so: the id is of another kind
                        continue
                    tried.add(name)
                    answer = (await parley.post(document, variables, role=role)).json()
                    if assert_reveals_nothing(name, answer) == "INVALID_INPUT":
                        no_form.add((name, foreign))

    assert {"node", "nodes", "agents", "pauseAgent", "updateAgent", "revokeApiKey", "createApiKey"} <= tried
    assert {"task", "tasks", "delegateTask", "cancelTask", "claimTask", "completeTask", "replayDeadLetter"} <= tried
    assert {"memories", "recallMemories", "remember", "forget"} <= tried
    assert {"attention", "answerAttention", "assignAttention", "overrideRouting"} <= tried
    assert {"groups", "saveGroup", "dissolveGroup"} <= tried
    assert {"agentMessages", "sendAgentMessage", "broadcastAgentMessage", "acknowledgeInbox"} <= tried
    assert {"routingDecision", "routingDecisions", "routeMessage", "rateResponse", "recordRoutingOutcome"} <= tried
    assert {"collaborationSession", "collaborationSessions", "startCollaboration", "cancelCollaboration"} <= tried
    assert {"report", "reports", "requestReport"} <= tried
    assert {"consultation", "consultations", "requestConsultation", "answerConsultation"} <= tried
    assert {"clarifyConsultation", "rateConsultation"} <= tried
    assert {"extendCollaboration", "decideSubtaskFailure", "submitStageOutput"} <= tried
    assert await fingerprint(parley, parley.other) == before


async def test_an_agents_key_reads_no_conversation_that_it_takes_no_part_in(parley: Parley) -> None:
    things = await conversation_ids(parley, parley.home)
    tried = set()

    for hidden in things:
        for name, document, variables in root_operations(CORE.query_type, "query", hidden):
            tried.add(name)
            assert_reveals_nothing(name, (await parley.post(document, variables, role=Role.AGENT)).json())
    listed = "{ conversations { totalCount } routingDecisions { totalCount } }"
    seen_by_luke = await parley.run(listed, role=Role.AGENT)
    kept = await parley.run("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": things})

    assert {"node", "nodes", "conversation", "conversations", "routingDecision"} <= tried
    assert seen_by_luke == {"conversations": {"totalCount": 0}, "routingDecisions": {"totalCount": 0}}
    assert [one["id"] for one in kept["nodes"]] == things


def assert_reveals_nothing(name: str, answer: dict[str, Any]) -> str | None:
    """Answers the code of the refusal, if it was one."""
    if "errors" in answer:
        code: str = answer["errors"][0]["extensions"]["code"]
        assert code in NO_SUCH_THING, (name, answer)
        return code
    value = answer["data"][name]
    if isinstance(value, dict) and "nodes" in value:
        assert (value["nodes"], value["totalCount"]) == ([], 0), (name, answer)
    elif isinstance(value, dict):
        assert value.get("code") in NO_SUCH_THING, (name, answer)
        return str(value["code"])
    else:
        assert value in FOUND_NOTHING, (name, answer)
    return None


async def test_no_subscription_follows_another_team(parley: Parley) -> None:
    other_id = to_global(Prefix.TEAM, parley.other.id)
    foreign_things = await foreign_ids(parley, parley.other, other_id)
    tried = set()
    for role in Role:
        for foreign in foreign_things:
            for name, document, variables in root_operations(CORE.subscription_type, "subscription", foreign):
                tried.add(name)
                answer = await parley.client.post(
                    "/graphql",
                    json={"query": document, "variables": variables},
                    headers={
                        "Authorization": f"Bearer {parley.home.secrets[role]}",
                        "Accept": "text/event-stream",
                    },
                )
                assert any(code in answer.text for code in NO_SUCH_THING), (name, role, answer.text)

    assert {"agentEvents", "taskEvents", "agentTaskEvents", "inboxEvents", "collaborationEvents"} <= tried


async def test_database_itself_refuses_a_link_across_teams(parley: Parley) -> None:
    link = "update api_key set role = 'agent', agent_id = $1 where id = $2"
    connection = await asyncpg.connect(parley.settings.database_url)

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await connection.execute(link, parley.other.luke.id, parley.home.key_ids[Role.ANALYST])

    await connection.close()


def test_walk_understands_defaults() -> None:
    """Guards the walk itself: what is neither required nor an id is left out."""
    argument = CORE.query_type.fields["agents"].args["first"]  # type: ignore[union-attr]

    assert not is_required_argument(argument)
    assert argument.default_value is Undefined
