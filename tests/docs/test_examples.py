"""Every example in the README and the docs works as it stands.

A fenced `graphql` block is run with an admin's key on the demo team; `AGENT_ID` in it, and a variable that has to be
given, stand for an agent's id, `COLLEAGUE_ID` for another's; a variable `$task` stands for a task's, `$decision` for a
routing decision's. What the page on delegation turns on first is on. A subscription has to catch up. A `bash` block is
run by bash, in order within its page.
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


# The analysts' page changes nothing: its examples share one server.
ONE_BY_ONE = [(name, text) for name, text in examples("graphql") if not name.startswith("analyse.md")]


@pytest.fixture
async def demo(parley: Parley, tmp_path: Path) -> Parley:
    await ensure_demo(parley.settings.model_copy(update={"demo_key": KEY, "data_dir": tmp_path}))
    return parley


@pytest.mark.parametrize(("name", "text"), ONE_BY_ONE, ids=[name for name, _ in ONE_BY_ONE])
async def test_graphql_example(demo: Parley, name: str, text: str) -> None:
    agent = (await demo.run('{ agent(slug: "kyra") { id } }', secret=KEY))["agent"]["id"]
    colleague = (await demo.run('{ agent(slug: "luke") { id } }', secret=KEY))["agent"]["id"]
    operation = text.replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague)
    if name.startswith(("delegate.md", "contracts.md")):
        await demo.run(dict(examples("graphql"))["delegate.md:1"], secret=KEY)
    node = get_operation_ast(parse(operation))
    assert node is not None, f"{name}: one operation a block"

    needed = [variable for variable in node.variable_definitions or () if isinstance(variable.type, NonNullTypeNode)]
    variables = {variable.variable.name.value: agent for variable in needed}
    if "decision" in variables:
        variables["decision"] = await routed(demo)
    if "task" in variables:
        variables["task"] = await delegated(demo, agent, colleague)

    if node.operation is OperationType.SUBSCRIPTION:
        assert "CaughtUp" in await first_item(demo, operation, variables)
    else:
        data = await demo.run(operation, variables, secret=KEY)
        assert None not in data.values(), data
        if node.operation is OperationType.MUTATION:
            assert all(value["__typename"].endswith("Payload") for value in data.values()), data


async def routed(demo: Parley) -> str:
    """A decision, as the page on routing makes one."""
    made = await demo.run(dict(examples("graphql"))["routing.md:2"], secret=KEY)
    return str(made["routeMessage"]["decision"]["id"])


async def delegated(demo: Parley, agent: str, colleague: str) -> str:
    """A task, as the page on delegation makes one."""
    turn_on, ask = (dict(examples("graphql"))[f"delegate.md:{number}"] for number in (1, 2))
    await demo.run(turn_on, secret=KEY)
    made = await demo.run(ask.replace("AGENT_ID", agent).replace("COLLEAGUE_ID", colleague), secret=KEY)
    return str(made["delegateTask"]["task"]["id"])


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
    script = script.replace("curl -sN", f"curl -sN --max-time {STREAM_S}")

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


async def test_analyst_may_run_every_query_of_the_discovery_page(demo: Parley) -> None:
    for name, text in examples("graphql"):
        if name.startswith("discover.md"):
            assert await demo.run(text, role=Role.ANALYST)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target
