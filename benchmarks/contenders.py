"""The contenders of the read benchmark: how each is started, called and checked."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.needs import NODE, node
from benchmarks.operations import (
    GRAPHQL,
    OPERATIONS,
    PARLEY_GRAPHQL,
    POSTGRAPHILE,
    Call,
    comparable,
    graphql_calls,
    plain_calls,
)
from benchmarks.processes import Server, python
from benchmarks.testbed import Testbed

PARLEY, HANDWRITTEN, ORDINARY = "Parley", "hand-written SQL", "Strawberry + ORM"
MERCURIUS, POSTGRAPHILE_5 = "mercurius + jit", "PostGraphile 5"
RESPONSE_TIMEOUT_S = 20


@dataclass
class Contender:
    server: Server
    calls: Callable[[str], list[Call]]
    headers: dict[str, str] = field(default_factory=dict)

    def raw_requests(self, operation: str) -> list[str]:
        """Returns the requests of an operation, byte for byte."""
        return [_raw_request(call, self.headers) for call in self.calls(operation)]


def start_contenders(testbed: Testbed) -> list[Contender]:
    authorization = {"authorization": f"Bearer {testbed.seed.secret}"}
    contenders = [
        Contender(
            testbed.start_server(PARLEY, python("app.cli", "serve")),
            lambda operation: graphql_calls(operation, PARLEY_GRAPHQL, "/graphql"),
            authorization,
        ),
        Contender(testbed.start_server(HANDWRITTEN, python("benchmarks.servers.handwritten")), plain_calls),
        Contender(
            testbed.start_server(ORDINARY, python("benchmarks.servers.ordinary")),
            lambda operation: graphql_calls(operation, GRAPHQL, "/graphql"),
        ),
    ]
    return contenders if NODE.missing() else [*contenders, *_start_node_contenders(testbed)]


def _start_node_contenders(testbed: Testbed) -> list[Contender]:
    def start(name: str, script: str) -> Server:
        return testbed.start_server(name, node(script), NODE_ENV="production", GRAPHILE_ENV="production")

    team_id = str(testbed.seed.team_id)
    return [
        Contender(start(MERCURIUS, "mercurius.mjs"), lambda operation: graphql_calls(operation, GRAPHQL, "/graphql")),
        Contender(
            start(POSTGRAPHILE_5, "postgraphile.mjs"),
            lambda operation: graphql_calls(operation, POSTGRAPHILE, "/graphql", team=team_id),
        ),
    ]


def check_same_answers(contenders: list[Contender]) -> None:
    """Raises AssertionError unless all contenders give the same answers; otherwise the comparison means nothing."""
    for operation in OPERATIONS:
        answers = {
            contender.server.name: comparable(operation, _fetch(contender, operation)) for contender in contenders
        }
        expected = answers[HANDWRITTEN]
        for name, answer in answers.items():
            if answer != expected:
                raise AssertionError(
                    f"{operation}: {name} answers {json.dumps(answer)[:600]}\n"
                    f"but the hand-written statement {json.dumps(expected)[:600]}"
                )


def _fetch(contender: Contender, operation: str) -> Any:
    call = contender.calls(operation)[0]
    connection = http.client.HTTPConnection("127.0.0.1", contender.server.port, timeout=RESPONSE_TIMEOUT_S)
    headers = contender.headers | ({"content-type": "application/json"} if call.body else {})
    connection.request(call.method, call.path, call.body or None, headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    if response.status != 200 or b'"errors"' in body:
        raise AssertionError(f"{contender.server.name}, {operation}: {response.status} {body[:1000].decode()}")
    return json.loads(body)


def _raw_request(call: Call, headers: dict[str, str]) -> str:
    lines = [f"{call.method} {call.path} HTTP/1.1", "host: 127.0.0.1", "accept: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if call.body:
        lines += ["content-type: application/json", f"content-length: {len(call.body)}"]
    return "\r\n".join(lines) + "\r\n\r\n" + call.body.decode()
