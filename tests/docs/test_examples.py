"""Every example in the README and the docs works as it stands.

A fenced `graphql` block is run with an admin's key on the demo team; `AGENT_ID` in it, and a variable that has to be
given, stand for an agent's id, `COLLEAGUE_ID` for another's; `TASK_ID` and a variable `$task` stand for a task's,
`$decision` for a routing decision's, `$conversation` for a conversation's, `$reply` for a reply's, `$memory` for a
memory's, `$group` for a group's, `$report` for a report's, `$consultation` for a consultation's, `$agentMessage` for
that of a message between the two, `$attentionItem` for that of something that needs a person, `$handoff` for a
handoff's. What the page on delegation turns on first is on. A subscription has to catch up. A `bash` block is run by
bash, in order within its page.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from graphql import NonNullTypeNode, OperationType, parse
from graphql.utilities import get_operation_ast

from app.auth.roles import Role
from app.dev.demo import ensure_demo
from tests.fixtures.parley import Parley

PAGES = [Path("README.md"), *sorted(Path("docs").glob("*.md"))]
OTHERWISE = {"extend.md"}  # its examples need a type of their own and are run against a copy of the project
FENCE = re.compile(r"^```(graphql|bash|python)\n(.*?)^```$", re.S | re.M)
KEY = "parley_key_of_the_documentation_tests"
STREAM_S = "2"
MADE_BY = {
    "memory": ("remember.md:1", "remember"),
    "group": ("groups.md:1", "saveGroup"),
    "conversation": ("converse.md:1", "startConversation"),
    "attentionItem": ("attention.md:1", "askPerson"),
    "agentMessage": ("messages.md:1", "sendAgentMessage"),
    "report": ("reports.md:2", "requestReport"),
    "consultation": ("consult.md:2", "requestConsultation"),
}
ROUTE = """mutation ($text: String!) {
  setFeatureFlags(
    input: { flags: [{ flag: AGENT_COLLABORATION, enabled: true }, { flag: EXPERT_GATE, enabled: true }] }
  ) { __typename }
  routeMessage(input: { text: $text }) { __typename }
}"""


def examples(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        if page.name in OTHERWISE:
            continue
        blocks = [text for kind, text in FENCE.findall(page.read_text()) if kind == language]
        found += [(f"{page.name}:{number}", text) for number, text in enumerate(blocks, 1)]
    return found


# The analysts' page has a test of its own below.
BY_PAGE = {
    page.name: [(name, text) for name, text in examples("graphql") if name.startswith(f"{page.name}:")]
    for page in PAGES
}


@pytest.fixture
async def demo(parley: Parley, tmp_path: Path) -> Parley:
    await ensure_demo(parley.settings.model_copy(update={"demo_key": KEY, "data_dir": tmp_path}))
    return parley


@pytest.mark.parametrize("page", [name for name, found in BY_PAGE.items() if found and name != "analyse.md"])
async def test_graphql_examples(demo: Parley, page: str) -> None:
    """From top to bottom, as a reader would run them, on one server."""
    agent = (await demo.run('{ agent(slug: "kyra") { id } }', secret=KEY))["agent"]["id"]
    colleague = (await demo.run('{ agent(slug: "luke") { id } }', secret=KEY))["agent"]["id"]
    if page in ("delegate.md", "contracts.md", "reports.md"):
        await demo.run(dict(examples("graphql"))["delegate.md:1"], secret=KEY)
    for name, text in BY_PAGE[page]:
        await run_example(
            demo, name, text.replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague), agent, colleague
        )


async def run_example(demo: Parley, name: str, operation: str, agent: str, colleague: str) -> None:
    if "TASK_ID" in operation:
        operation = operation.replace("TASK_ID", await delegated(demo, agent, colleague))
    node = get_operation_ast(parse(operation))
    assert node is not None, f"{name}: one operation a block"
    needed = [variable for variable in node.variable_definitions or () if isinstance(variable.type, NonNullTypeNode)]
    variables = {variable.variable.name.value: agent for variable in needed}
    if "decision" in variables:
        variables["decision"] = await routed(demo)
    if "session" in variables:
        variables["session"] = await collaborating(demo, agent, colleague)
    for variable, (page, field) in MADE_BY.items():
        if variable in variables:
            make = dict(examples("graphql"))[page].replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague)
            variables[variable] = (await demo.run(make, secret=KEY))[field][variable]["id"]
    if "handoff" in variables:
        variables["handoff"] = await handed_over(demo)
    if "reply" in variables:
        variables["reply"] = await asked(demo, agent)
    if "task" in variables:
        variables["task"] = await delegated(demo, agent, colleague)

    if node.operation is OperationType.SUBSCRIPTION:
        assert "CaughtUp" in await first_item(demo, operation, variables), name
    else:
        data = await demo.run(operation, variables, secret=KEY)
        assert None not in data.values(), (name, data)
        if node.operation is OperationType.MUTATION:
            assert all(value["__typename"].endswith("Payload") for value in data.values()), (name, data)


async def routed(demo: Parley) -> str:
    """A decision, as the page on routing makes one."""
    made = await demo.run(dict(examples("graphql"))["routing.md:2"], secret=KEY)
    return str(made["routeMessage"]["routingDecision"]["id"])


async def handed_over(demo: Parley) -> str:
    """A handoff that has not ended, to an agent whom no page names."""
    start = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
    started = await demo.run(start, secret=KEY)
    await demo.run('mutation { createAgent(input: {slug: "zoe", name: "Zoe"}) { __typename } }', secret=KEY)
    zoe = (await demo.run('{ agent(slug: "zoe") { id } }', secret=KEY))["agent"]["id"]
    given = {"id": started["startConversation"]["conversation"]["id"], "to": zoe}
    hand = """mutation ($id: ID!, $to: ID!) {
      handoffConversation(input: {conversationId: $id, toAgentId: $to, reason: "a bug", reply: false}) {
        ... on HandoffPayload { handoff { id } }
      }
    }"""
    return str((await demo.run(hand, given, secret=KEY))["handoffConversation"]["handoff"]["id"])


async def collaborating(demo: Parley, agent: str, colleague: str) -> str:
    """An open session, as the page on collaboration starts one."""
    turn_on, start = (dict(examples("graphql"))[f"collaborate.md:{number}"] for number in (1, 2))
    await demo.run(turn_on, secret=KEY)
    made = await demo.run(start.replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague), secret=KEY)
    return str(made["startCollaboration"]["collaboration"]["id"])


async def delegated(demo: Parley, agent: str, colleague: str) -> str:
    """A task, as the page on delegation makes one."""
    turn_on, ask = (dict(examples("graphql"))[f"delegate.md:{number}"] for number in (1, 2))
    await demo.run(turn_on, secret=KEY)
    made = await demo.run(ask.replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague), secret=KEY)
    return str(made["delegateTask"]["task"]["id"])


async def asked(demo: Parley, agent: str) -> str:
    """A reply that waits for its turn, as the page on conversations has one asked for."""
    begin, say = (dict(examples("graphql"))[f"converse.md:{number}"] for number in (1, 2))
    begun = await demo.run(begin.replace("AGENT_ID", agent), secret=KEY)
    variables = {"conversation": begun["startConversation"]["conversation"]["id"]}
    sent = await demo.run(say.replace("say-1", "say-2"), variables, secret=KEY)
    return str(sent["sendMessage"]["reply"]["id"])


async def first_item(demo: Parley, operation: str, variables: dict[str, str]) -> str:
    """The first item of a stream; it must name its type so that the marker can be seen."""
    headers = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
    body = {"query": operation, "variables": variables}
    async with demo.client.stream("POST", "/graphql", json=body, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                return line
    raise AssertionError("the stream ended without an item")


async def test_bash_examples_of_the_readme(demo: Parley) -> None:
    blocks = [text for name, text in examples("bash") if name.startswith("README.md")]
    script = "\n".join(blocks).replace("http://localhost:8000", demo.url).replace("parley_…", KEY)
    script = script.replace("curl -sSN", f"curl -sN --max-time {STREAM_S}")

    output = await output_of("bash", "-c", script)

    assert '"role" : "ADMIN"' in output or '"role":"ADMIN"' in output
    assert '"__typename":"AgentPayload"' in output
    assert '"CaughtUp"' in output


async def test_examples_of_the_exports_page(demo: Parley) -> None:
    (shell,), (python,) = (
        [text.replace("http://localhost:8000", demo.url).replace("parley_…", KEY) for name, text in examples(language)
         if name.startswith("export.md")]
        for language in ("bash", "python")
    )  # fmt: skip

    table, lines = await output_of("bash", "-c", shell), await output_of(sys.executable, "-c", python)

    assert table.startswith("slug,name,status,traits.humor,skills\r\n")
    assert table.count("\r\n") == lines.count("\n") + 1 > 2
    assert " kyra\n" in lines


async def output_of(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    )
    return (await process.communicate())[0].decode()


async def test_analyst_may_run_every_query_of_the_analysts_page(demo: Parley) -> None:
    pages = [text for name, text in examples("graphql") if name.startswith("analyse.md")]
    luke = (await demo.run('{ agent(slug: "luke") { id } }', secret=KEY))["agent"]["id"]
    for text in ("Please do a code review of my pull request", "A second code review, with a look at race conditions"):
        routed = await demo.run(ROUTE, {"text": text}, secret=KEY)
        assert routed["routeMessage"]["__typename"] == "RoutingDecisionPayload"

    for text in pages:
        assert await demo.run(text, {"agent": demo.home.agent_id} if "$agent" in text else None, role=Role.ANALYST)
    answers = [await demo.run(text, {"agent": luke} if "$agent" in text else None, secret=KEY) for text in pages]

    assert len(pages) >= 22
    assert answers[0]["routingDecisions"]["groupedAggregates"] == {
        "groups": [{"key": {"selectedAgent": {"name": "Luke", "slug": "luke"}}, "count": 2, "shareOfCount": 1.0}],
        "hasMore": False,
    }
    assert answers[1]["routingDecisions"]["aggregates"]["count"] == 0
    assert answers[1]["routingDecisions"]["aggregates"]["confidence"]["mean"] is None

    on = "mutation { setFeatureFlags(input: { flags: [{ flag: ENSEMBLE_MODE, enabled: true }] }) { __typename } }"
    together = """mutation ($text: String!) { routeMessage(input: { text: $text, strategy: ENSEMBLE }) {
      ... on RoutingDecisionPayload { routingDecision { confidence strategy } } } }"""
    await demo.run(on, secret=KEY)
    decided = [
        (await demo.run(together, {"text": text}, secret=KEY))["routeMessage"]["routingDecision"]
        for text in ("A code review of the database schema", "How sure can we be?")
    ]
    assert {one["strategy"] for one in decided} == {"ENSEMBLE"}
    sure = (await demo.run(pages[1], role=Role.ANALYST, secret=KEY))["routingDecisions"]["aggregates"]
    low, high = sorted(one["confidence"] for one in decided)
    assert (sure["count"], sure["confidence"]["min"]) == (2, low)
    assert sure["confidence"]["mean"] == sure["confidence"]["median"] == pytest.approx((low + high) / 2)


async def test_analyst_may_run_every_query_of_the_discovery_page(demo: Parley) -> None:
    for name, text in examples("graphql"):
        if name.startswith("discover.md"):
            assert await demo.run(text, role=Role.ANALYST)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target
