"""What `parley dev` prints when it is ready: where to go and what to paste."""

from __future__ import annotations

from textwrap import indent

_PAGE = """
  Parley is ready at {address}

    GraphiQL   {address}/graphql
    Demo key   {key}

  Paste these into another terminal. First, an address and a key:

{setup}

  Who is on the team?

{query}

  Pause an agent; a refusal is part of the answer:

{mutation}

  Watch it happen:

{subscription}

  Ctrl-C stops everything; the data stays.
"""

_SETUP = """\
URL={address}/graphql KEY='{key}'
ask() {{ curl -sN "$URL" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }}"""

_QUERY = """\
ask -d '{"query": "{ viewer { role team { name } } agents(first: 10) { nodes { slug name tagline status } } }"}'"""

_MUTATION = """\
ID=$(ask -d '{"query": "{ agents(first: 1) { nodes { id } } }"}' | grep -o 'agent_[0-9a-f]*')
ask -d '{"query": "mutation($id: ID!) { pauseAgent(input: {agentId: $id, reason: \\"lunch\\"}) { __typename \
... on AgentPayload { agent { name status } } ... on Conflict { message } } }", "variables": {"id": "'$ID'"}}'"""

_SUBSCRIPTION = """\
ask -H 'Accept: text/event-stream' \\
  -d '{"query": "subscription { teamEvents { __typename ... on Event { kind at cursor } } }"}'"""


def text(address: str, key: str) -> str:
    return _PAGE.format(
        address=address,
        key=key,
        setup=_indented(_SETUP.format(address=address, key=key.replace("'", "'\\''"))),
        query=_indented(_QUERY),
        mutation=_indented(_MUTATION),
        subscription=_indented(_SUBSCRIPTION),
    )


def _indented(lines: str) -> str:
    return indent(lines, "    ")
