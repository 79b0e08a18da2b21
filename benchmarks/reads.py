"""Reads: each contender in a process of its own, loaded one at a time, in interleaved rounds."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

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
from benchmarks.stage import Server, Stage, node, node_is_present, python

CONNECTIONS = 16
PARLEY, HANDWRITTEN, ORDINARY = "Parley", "hand-written SQL", "Strawberry + ORM"
MERCURIUS, POSTGRAPHILE_5 = "mercurius + jit", "PostGraphile 5"


@dataclass
class Contender:
    server: Server
    calls: Callable[[str], list[Call]]
    headers: dict[str, str] = field(default_factory=dict)

    def raw(self, operation: str) -> list[str]:
        """The requests of an operation, byte for byte."""
        return [_raw(call, self.headers) for call in self.calls(operation)]


@dataclass
class Sample:
    rate: float
    p50_ms: float
    p99_ms: float
    server_us: float
    postgres_us: float


def measure(stage: Stage, *, rounds: int, seconds: float) -> dict[str, Any]:
    contenders = start_all(stage)
    refuse_different_answers(contenders)
    names = [contender.server.name for contender in contenders]
    samples: dict[str, dict[str, list[Sample]]] = {op: {name: [] for name in names} for op in OPERATIONS}
    for contender in contenders:
        for operation in OPERATIONS:
            load(stage, contender, operation, min(seconds, 1.0))  # warms caches, plans and compilers
    for _ in range(rounds):
        for operation in OPERATIONS:
            for contender in contenders:
                samples[operation][contender.server.name].append(load(stage, contender, operation, seconds))
    memory = {contender.server.name: contender.server.rss_mb() for contender in contenders}
    for contender in contenders:
        stage.stop(contender.server)
    operations = {op: {name: summary(found) for name, found in by.items()} for op, by in samples.items()}
    return {
        "rounds": rounds,
        "seconds": seconds,
        "connections": CONNECTIONS,
        "rss_mb": memory,
        "operations": operations,
    }


def start_all(stage: Stage) -> list[Contender]:
    parley = stage.serve(PARLEY, python("app.cli", "serve"))
    key = {"authorization": f"Bearer {stage.seeded.secret}"}
    found = [
        Contender(parley, lambda operation: graphql_calls(operation, PARLEY_GRAPHQL, "/graphql"), key),
        Contender(stage.serve(HANDWRITTEN, python("benchmarks.servers.handwritten")), plain_calls),
        Contender(
            stage.serve(ORDINARY, python("benchmarks.servers.ordinary")),
            lambda operation: graphql_calls(operation, GRAPHQL, "/graphql"),
        ),
    ]
    return found + _node_contenders(stage) if node_is_present() else found


def _node_contenders(stage: Stage) -> list[Contender]:
    team = str(stage.seeded.team_id)
    started: list[Contender] = []
    for name, script, texts, always in (
        (MERCURIUS, "mercurius.mjs", GRAPHQL, {}),
        (POSTGRAPHILE_5, "postgraphile.mjs", POSTGRAPHILE, {"team": team}),
    ):
        calls = _calls(texts, always)
        try:
            server = stage.serve(name, node(script), NODE_ENV="production", GRAPHILE_ENV="production")
        except RuntimeError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        started.append(Contender(server, calls))
    return started


def _calls(texts: dict[str, str], always: dict[str, str]) -> Callable[[str], list[Call]]:
    return lambda operation: graphql_calls(operation, texts, "/graphql", **always)


def refuse_different_answers(contenders: list[Contender]) -> None:
    """A race between servers that answer differently says nothing."""
    for operation in OPERATIONS:
        answers = {contender.server.name: comparable(operation, _ask(contender, operation)) for contender in contenders}
        expected = answers[HANDWRITTEN]
        for name, answer in answers.items():
            if answer != expected:
                told = f"{operation}: {name} answers {json.dumps(answer)[:600]}"
                raise AssertionError(f"{told}\nbut the hand-written statement {json.dumps(expected)[:600]}")


def load(stage: Stage, contender: Contender, operation: str, seconds: float) -> Sample:
    orders = {"ports": [contender.server.port], "requests": contender.raw(operation), "connections": CONNECTIONS,
              "seconds": seconds}  # fmt: skip
    before, before_postgres = contender.server.cpu_s(), stage.postgres_cpu_s()
    done = subprocess.run(python("benchmarks.load"), input=json.dumps(orders), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{contender.server.name}, {operation}: {done.stderr[-1000:]}")
    seen = json.loads(done.stdout)
    if seen["failed"]:
        raise AssertionError(f"{contender.server.name} refused {seen['failed']} requests of {operation}")
    count = seen["requests"]
    return Sample(
        count / seen["seconds"],
        seen["p50_ms"],
        seen["p99_ms"],
        1e6 * (contender.server.cpu_s() - before) / count,
        1e6 * (stage.postgres_cpu_s() - before_postgres) / count,
    )


def summary(samples: list[Sample]) -> dict[str, Any]:
    names = ("rate", "p50_ms", "p99_ms", "server_us", "postgres_us")
    medians = {name: median(getattr(sample, name) for sample in samples) for name in names}
    return medians | {"rates": [round(sample.rate, 1) for sample in samples]}


def _ask(contender: Contender, operation: str) -> Any:
    call = contender.calls(operation)[0]
    connection = http.client.HTTPConnection("127.0.0.1", contender.server.port, timeout=20)
    headers = contender.headers | ({"content-type": "application/json"} if call.body else {})
    connection.request(call.method, call.path, call.body or None, headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    if response.status != 200 or b'"errors"' in body:
        raise AssertionError(f"{contender.server.name}, {operation}: {response.status} {body[:1000].decode()}")
    return json.loads(body)


def _raw(call: Call, headers: dict[str, str]) -> str:
    lines = [f"{call.method} {call.path} HTTP/1.1", "host: 127.0.0.1", "accept: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if call.body:
        lines += ["content-type: application/json", f"content-length: {len(call.body)}"]
    return "\r\n".join(lines) + "\r\n\r\n" + call.body.decode()
