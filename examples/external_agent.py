"""An agent of your own: joins a running Parley, claims its tasks, works, and reports. Any language can do the same.

    PARLEY_URL=http://localhost:8000 PARLEY_KEY=parley_… python examples/external_agent.py

The key has the role AGENT, for an agent whose runtime is EXTERNAL. Needs only httpx.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import httpx

CLAIM = """mutation ($input: ClaimTaskInput!) { claimTask(input: $input) {
  ... on ClaimTaskPayload { claimToken task { id title instructions } } ... on Refusal { code message } } }"""
HEARTBEAT = """mutation ($input: HeartbeatTaskInput!) { heartbeatTask(input: $input) {
  ... on TaskPayload { task { status } } ... on Refusal { code message } } }"""
COMPLETE = """mutation ($input: CompleteTaskInput!) { completeTask(input: $input) {
  ... on TaskPayload { task { status } } ... on Refusal { code message } } }"""
FAIL = """mutation ($input: FailTaskInput!) { failTask(input: $input) {
  ... on TaskPayload { task { status } } ... on Refusal { code message } } }"""


class Parley:
    def __init__(self, url: str, key: str) -> None:
        self.http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30)

    def call(self, document: str, **given: Any) -> dict[str, Any]:
        answer = self.http.post("/graphql", json={"query": document, "variables": {"input": given}}).json()
        if "errors" in answer:
            raise RuntimeError(answer["errors"][0]["message"])
        (result,) = answer["data"].values()
        return dict(result)


def work(task: dict[str, Any]) -> str:
    """Your agent's own skill; this one counts words."""
    return f"'{task['title']}' asks for {len(task['instructions'].split())} words' worth of work."


def run_one(parley: Parley) -> bool:
    """Wait for a task and see it through; False when none came."""
    claimed = parley.call(CLAIM, waitSeconds=5, leaseSeconds=30)
    task = claimed.get("task")
    if task is None:
        return False
    mine, done = {"taskId": task["id"], "claimToken": claimed["claimToken"]}, threading.Event()

    def beat() -> None:
        while not done.wait(10):  # well within the lease
            parley.call(HEARTBEAT, **mine)

    threading.Thread(target=beat, daemon=True).start()
    try:
        parley.call(HEARTBEAT, **mine, progress="started")
        print(parley.call(COMPLETE, **mine, result=work(task), tokensUsed=0, costUsd=0))
    except Exception as error:
        print(parley.call(FAIL, **mine, message=repr(error), mayPass=True))
    finally:
        done.set()
    return True


if __name__ == "__main__":
    parley = Parley(os.environ.get("PARLEY_URL", "http://localhost:8000"), os.environ["PARLEY_KEY"])
    while True:
        run_one(parley)
