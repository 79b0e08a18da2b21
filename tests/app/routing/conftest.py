"""Fixtures of the routing rules: the labelled team, indexed once for all tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.static import StaticEmbedder
from app.routing.calibration import Calibration, calibrate
from app.routing.lexicon import lexicon
from app.routing.profile import AgentProfile
from app.routing.skill_match import Query, SkillMatch, skill_matches
from app.routing.team_index import TeamIndex, build, phrases_of
from app.routing.team_indexes import TeamIndexes
from app.teams.models import Team
from tests.fixtures.labelled import profiles
from tests.fixtures.switchboard import Failing, Switchboard

Indexed = Callable[[Sequence[AgentProfile]], TeamIndex]
Match = Callable[[TeamIndex, str], dict[str, SkillMatch]]


@pytest.fixture(scope="session")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.fixture(scope="session")
def calibration(embedder: StaticEmbedder) -> Calibration:
    return calibrate(embedder.name, embedder.embed_now(lexicon().background))


@pytest.fixture(scope="session")
def indexed(embedder: StaticEmbedder, calibration: Calibration) -> Indexed:
    def of(agents: Sequence[AgentProfile]) -> TeamIndex:
        return build(agents, embedder.embed_now([phrase.text for phrase in phrases_of(agents)]), calibration)

    return of


@pytest.fixture(scope="session")
def labelled_index(indexed: Indexed) -> TeamIndex:
    return indexed(profiles())


@pytest.fixture(scope="session")
def match(embedder: StaticEmbedder) -> Match:
    """The matches of a query by slug."""

    def of(index: TeamIndex, text: str) -> dict[str, SkillMatch]:
        found = skill_matches(index, Query(text, embedder.embed_now([text])[0]))
        return {each.slug: each for each in found}

    return of


@pytest.fixture
def board(
    database: Database, transaction: Transactions, settings: Settings, team: Team, embedder: StaticEmbedder
) -> Switchboard:
    """Routing for a team that has no agent yet."""
    failing = Failing(embedder)
    return Switchboard(database, transaction, settings, team.id, failing, TeamIndexes(database, failing))
