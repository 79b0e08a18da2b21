"""An agent of your own: joins a running Parley, claims its tasks, works, and reports. Any language can do the same.

    PARLEY_URL=http://localhost:8000/graphql PARLEY_KEY=parley_… .venv/bin/python examples/external_agent.py

The key has the role AGENT, for an agent whose runtime is EXTERNAL; docs/delegate.md shows how to make both. Another
Python needs only httpx (`pip install httpx`).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import httpx

ENDED = "... on TaskPayload { task { status error } } ... on Refusal { code message }"
CLAIM = """mutation ($input: ClaimTaskInput!) { claimTask(input: $input) {
  ... on ClaimTaskPayload { claimToken task { id title instructions } } ... on Refusal { code message } } }"""
HEARTBEAT = f"mutation ($input: HeartbeatTaskInput!) {{ heartbeatTask(input: $input) {{ {ENDED} }} }}"
COMPLETE = f"mutation ($input: CompleteTaskInput!) {{ completeTask(input: $input) {{ {ENDED} }} }}"
FAIL = f"mutation ($input: FailTaskInput!) {{ failTask(input: $input) {{ {ENDED} }} }}"


class Refused(Exception):
    """Parley says no, and why."""


class Parley:
    def __init__(self, url: str, key: str) -> None:
        self.url, self.http = url, httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30)

    def call(self, document: str, **given: Any) -> dict[str, Any]:
        answer = self._post({"query": document, "variables": {"input": given}}).json()
        if "errors" in answer:
            raise Refused(answer["errors"][0]["message"])
        (result,) = answer["data"].values()
        if "message" in result:
            raise Refused(f"{result['code']}: {result['message']}")
        return dict(result)

    def _post(self, body: dict[str, Any]) -> httpx.Response:
        while True:
            try:
                return self.http.post(self.url, json=body)
            except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as away:
                print("waiting for Parley:", away)  # and then said again: the claim lets it count once
                time.sleep(1)


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
            try:
                parley.call(HEARTBEAT, **mine)
            except Refused:  # cancelled, or given to somebody else: whatever we say next counts no more
                return

    threading.Thread(target=beat, daemon=True).start()
    try:
        parley.call(HEARTBEAT, **mine, progress="started")
        print(task["title"], parley.call(COMPLETE, **mine, result=work(task), tokensUsed=0, costUsd=0))
    except Refused as refusal:
        print(task["title"], refusal)
    except Exception as error:
        print(task["title"], parley.call(FAIL, **mine, message=repr(error), mayPass=True))
    finally:
        done.set()
    return True


if __name__ == "__main__":
    if not os.environ.get("PARLEY_KEY"):
        sys.exit("Set PARLEY_KEY to a key with the role AGENT.")
    parley = Parley(os.environ.get("PARLEY_URL", "http://localhost:8000/graphql"), os.environ["PARLEY_KEY"])
    try:
        while True:
            run_one(parley)
    except Refused as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        print("stopped")
