"""Attacks by what clients may leave in Redis."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import redis

from tests.fixtures.parley import Parley

QUERY_CHARS = 1_900


def automatic(number: int) -> dict[str, Any]:
    query = f"query Q{number} {{ viewer {{ name }} }} # ".ljust(QUERY_CHARS, "x")
    digest = hashlib.sha256(query.encode()).hexdigest()
    return {"query": query, "extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}


@pytest.mark.parametrize("parley_settings", [{"max_automatic_chars_per_team": 5 * QUERY_CHARS}], indirect=True)
async def test_ever_new_automatic_queries(parley: Parley) -> None:
    headers = {"Authorization": f"Bearer {next(iter(parley.home.secrets.values()))}"}
    left = []
    for number in range(20):
        answer = await parley.client.post("/graphql", json=automatic(number), headers=headers)
        assert answer.json()["data"]["viewer"]["name"]
        left.append(int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]))

    with redis.Redis.from_url(str(parley.settings.redis_url)) as client:
        assert len(client.keys("document:*")) == 5
    assert left[0] - left[-1] >= 19 * 10
