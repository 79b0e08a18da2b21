"""While the embedder is away, words and subjects find agents."""

from __future__ import annotations

import pytest

from app.discovery import queries
from app.routing.skill_match import MATCHES
from tests.fixtures.logs import logged
from tests.fixtures.switchboard import REVIEW, Switchboard


@pytest.mark.parametrize("known", [True, False])
async def test_agents_are_found_while_the_embedder_is_away(board: Switchboard, known: bool) -> None:
    await board.hire("kyra", "luke", "ada")
    if known:
        await board.indexes.get(board.team_id)
    board.embedder.fails = True
    asked = (board.indexes, board.embedder)

    with logged() as logs:
        experts = await queries.find_experts(
            board.database, *asked, team_id=board.team_id, required=["code review", "cooking"], first=5
        )
        recommended = await queries.recommend(board.database, *asked, team_id=board.team_id, query=REVIEW, first=3)
        matches = await queries.skill_matches_of(*asked, board.team_id, REVIEW)

    assert [one.expert.slug for one in experts] == ["ada", "luke"]
    assert [one.match.slug for one in recommended] == ["luke"]
    assert [slug for slug, value in matches.items() if value >= MATCHES] == ["luke"]
    assert [one["event"] for one in logs].count("agents are found without the meaning of what was asked") == 3
