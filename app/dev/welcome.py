"""What `parley dev` prints when it is ready: where to go and what to paste."""

from __future__ import annotations

from textwrap import indent

_PAGE = """
  Parley is ready at {address}

    Dashboard  {address}
    GraphiQL   {address}/graphql
    Demo key   {key}

  Paste these into another terminal. First, an address and a key:

{setup}

  Who is on the team?

{query}

  Give one of them a task from another; the worker runs it on the offline model:

{mutation}

  A moment later: what became of it?

{result}

  Watch what happens from now on:

{subscription}

  Ctrl-C stops everything; the data stays.
"""

_SETUP = """\
URL={address}/graphql KEY='{key}'
ask() {{ curl -sSN "$URL" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }}"""

_QUERY = """\
ask -d '{"query": "{ viewer { role team { name } } agents(first: 10) { nodes { slug name tagline status } } }"}'"""

_MUTATION = """\
set -- $(ask -d '{"query": "{ agents(first: 2) { nodes { id } } }"}' | grep -o 'agent_[0-9a-f]*')
ask -d '{"query": "mutation($a: ID!, $b: ID!) { delegateTask(input: {creatorId: $a, assigneeId: $b, type: PLAN, \
title: \\"Launch\\", instructions: \\"Plan the launch. First test it. Then tell everybody.\\"}) { __typename \
... on TaskPayload { task { id status } } ... on Refusal { message } } }", "variables": {"a": "'$1'", "b": "'$2'"}}'"""

_RESULT = """\
ask -d '{"query": "{ tasks(first: 1, orderBy: [{field: CREATED_AT, direction: DESC}]) { nodes { status result \
assignee { name } attempts { nodes { model tokensUsed } } } } }"}'"""

_SUBSCRIPTION = """\
ask -H 'Accept: text/event-stream' \\
  -d '{"query": "subscription { teamEvents { __typename ... on Event { kind at } ... on CaughtUp { cursor } } }"}'"""


def text(address: str, key: str) -> str:
    return _PAGE.format(
        address=address,
        key=key,
        setup=_indented(_SETUP.format(address=address, key=key.replace("'", "'\\''"))),
        query=_indented(_QUERY),
        mutation=_indented(_MUTATION),
        result=_indented(_RESULT),
        subscription=_indented(_SUBSCRIPTION),
    )


def _indented(lines: str) -> str:
    return indent(lines, "    ")
