"""A replay in SQL decides as the rules do, and tells what changes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import insert

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import InvalidInput, TookTooLong
from app.ids import new_id
from app.routing.choice import RoutingMode
from app.routing.flip import FlipCause
from app.routing.models import RoutingRating
from app.routing.replay import Among, LeftOut, Proposal
from app.routing.router import Reason
from app.routing.score import Candidate, Signals, Weights
from app.routing.select import Policy, Selection, Strategy, select
from app.routing.simulation import Known, Simulation, Simulator
from app.teams.models import Team
from tests.fixtures.decisions import Decisions, Made

KYRA = Candidate("kyra", "Kyra", Signals(0.9, 0.8, 0.5, 0.2))
LUKE = Candidate("luke", "Luke", Signals(0.7, 0.9, 0.5, 0.9))
BUSY, FREE = Weights(0.7, 0.1, 0.1, 0.1), Weights(0.1, 0.1, 0.1, 0.7)


def again(made: Made, proposal: Proposal) -> Selection:
    given = {name: value for name, value in vars(proposal).items() if value is not None}
    return select(made.candidates, replace(made.policy, **given), default=made.stands_in.slug)


def expected(decisions: Decisions, proposal: Proposal) -> dict[str, Any]:
    pairs = [(made, made.selection, again(made, proposal)) for made in decisions.made]
    flips = [
        (made.id, before.selected[:1], after.selected[:1])
        for made, before, after in pairs
        if before.selected[:1] != after.selected[:1]
    ]
    return {
        "replayed": len(pairs),
        "flips": len(flips),
        "selections_changed": sum(before.selected != after.selected for _, before, after in pairs),
        "fallbacks": (sum(one.fallback_used for _, one, _ in pairs), sum(one.fallback_used for _, _, one in pairs)),
        "first_before": Counter(slug for _, before, _ in pairs for slug in before.selected[:1]),
        "first_after": Counter(slug for _, _, after in pairs for slug in after.selected[:1]),
        "selected_before": Counter(slug for _, before, _ in pairs for slug in before.selected),
        "selected_after": Counter(slug for _, _, after in pairs for slug in after.selected),
        "examples": flips[::-1],
    }


def found(simulation: Simulation) -> dict[str, Any]:
    parts = ("first_before", "first_after", "selected_before", "selected_after")
    return {
        "replayed": simulation.replayed,
        "flips": simulation.flips,
        "selections_changed": simulation.selections_changed,
        "fallbacks": (simulation.fallbacks_before, simulation.fallbacks_after),
        **{part: +Counter({agent.slug: getattr(agent, part) for agent in simulation.agents}) for part in parts},
        "examples": [
            (flip.id, *(() if side is None else (side.agent.slug,) for side in (flip.before, flip.after)))
            for flip in simulation.examples
        ],
    }


@pytest.mark.parametrize(("seed", "agents", "count"), [(1, 3, 50), (2, 7, 50), (3, 140, 12)])
async def test_replay_decides_as_the_rules_do(
    database: Database,
    transaction: Transactions,
    team: Team,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    agents: int,
    count: int,
) -> None:
    dice = random.Random(seed)
    async with transaction() as session:
        decisions = Decisions(session, team.id, dice)
        await decisions.add_agents(*(f"agent-{number}" for number in range(agents)))
        for _ in range(count):
            default = dice.choice([None, *sorted(decisions.ids)])
            candidates = decisions.any_candidates()
            able = {one.slug for one in candidates}
            others = sorted(decisions.ids.keys() - able)
            await decisions.add(
                candidates,
                decisions.any_policy(),
                default,
                current=dice.choice([None, *sorted(decisions.ids)]),
                left_out=dice.choice([None, others, others[::2]]),
            )

    flips = 0
    for number in range(20):
        monkeypatch.setattr("app.routing.simulation.AT_ONCE", dice.choice((count // 3, 500_000)))
        other = decisions.any_policy()
        names = ("weights", "threshold", "skill_floor", "strategy", "k")
        given = [] if number == 0 else [name for name in names if dice.random() < 0.5]
        proposal = Proposal(**{name: getattr(other, name) for name in given})
        simulation = await Simulator(database).simulate(team.id, proposal, examples=50)

        assert found(simulation) == expected(decisions, proposal), proposal
        if not given:
            assert (simulation.flips, simulation.selections_changed) == (0, 0)
            assert simulation.cost_before == simulation.cost_after
        flips += simulation.flips
    assert flips > count


async def test_simulation_tells_cost_ratings_causes_and_what_it_left_out(
    database: Database, transaction: Transactions, team: Team
) -> None:
    async with transaction() as session:
        decisions = Decisions(session, team.id, random.Random(0))
        await decisions.add_agents("kyra", "luke")
        policy = Policy(weights=BUSY, threshold=0.3, skill_floor=0.5)
        await decisions.add([KYRA, LUKE], policy, "kyra", actual_cost=Decimal("0.03"), rating=0.5)
        await decisions.add([KYRA, LUKE], policy, "kyra", rating=0.25)
        await decisions.add([LUKE], policy, "kyra", actual_cost=Decimal("0.04"), rating=1.0)
        both = await decisions.add([KYRA, LUKE], replace(policy, strategy=Strategy.TOP_K), "kyra")
        await session.execute(
            insert(RoutingRating).values(
                id=new_id(), team_id=team.id, decision_id=both.id, agent_id=decisions.ids["luke"], stars=5, rated_by="x"
            )
        )
        await decisions.add([KYRA], policy, None, mode=RoutingMode.DIRECT)
        await decisions.add([KYRA], policy, None, mode=RoutingMode.ROUTER)
        await decisions.add([KYRA], policy, None, reason=Reason.USER_MENTION)

    free = await Simulator(database).simulate(team.id, Proposal(weights=FREE), examples=1)
    strict = await Simulator(database).simulate(team.id, Proposal(threshold=0.75), examples=50)
    unskilled = await Simulator(database).simulate(team.id, Proposal(skill_floor=0.8), examples=50)

    assert free.left_out == dict.fromkeys(LeftOut, 1)
    assert (free.replayed, free.flips, free.capped) == (4, 3, False)
    # Kyra's answers cost 0.03, 0.01 and half of 0.01, Luke's 0.04 and half of 0.01: means 0.015 and 0.0225.
    assert (free.cost_before, free.cost_after) == (Decimal("0.09"), Decimal("0.015") + 4 * Decimal("0.0225"))
    assert free.kept == Known(1, 1.0)
    assert free.flipped == Known(2, 0.375)
    assert free.known_of_new == Known(3, pytest.approx((0.9 + 0.9 + 1) / 3))
    [newest] = free.examples
    assert newest.id == both.id
    assert (newest.cause, newest.signal) == (FlipCause.WEIGHTS, "load_balance")
    assert newest.explanation == "Luke instead of Kyra: load balance made the difference, by 0.42."
    assert newest.before is not None
    assert (newest.before.score_before, newest.before.score_after) == (0.78, 0.36)
    assert [(flip.cause, flip.explanation) for flip in strict.examples] == [
        (FlipCause.THRESHOLD, "Kyra as the default agent instead of Luke: the threshold made the difference.")
    ]
    assert [flip.cause for flip in unskilled.examples] == [FlipCause.SKILL_FLOOR]


async def test_current_agent_that_stepped_in_is_told_as_such(
    database: Database, transaction: Transactions, team: Team
) -> None:
    async with transaction() as session:
        decisions = Decisions(session, team.id, random.Random(0))
        await decisions.add_agents("kyra", "luke", "ada")
        ada = Candidate("ada", "Ada", Signals(0.2, 0.2, 0.2, 0.2))
        await decisions.add([LUKE, ada], Policy(), "kyra", current="ada", left_out=["kyra"])
        await decisions.add([LUKE], Policy(), "kyra", current="ada", left_out=["kyra"])

    strict = await Simulator(database).simulate(team.id, Proposal(threshold=0.9), examples=50)

    assert [flip.explanation for flip in strict.examples] == [
        "nobody instead of Luke: the threshold made the difference.",
        "Ada as the current agent instead of Luke: the threshold made the difference.",
    ]


async def test_what_cannot_be_replayed_is_refused(
    settings: Settings, database: Database, transaction: Transactions, team: Team
) -> None:
    for proposal, examples in ((Proposal(threshold=1.5), 1), (Proposal(k=0), 1), (Proposal(), 51)):
        with pytest.raises(InvalidInput):
            await Simulator(database).simulate(team.id, proposal, examples=examples)

    async with transaction() as session:
        decisions = Decisions(session, team.id, random.Random(0))
        await decisions.add([], Policy(), None)
    slow = Among("select id from routing_decision where pg_sleep(60) is not null", [])
    hurried = Database(settings.model_copy(update={"statement_timeout_ms": 50}))
    with pytest.raises(TookTooLong, match="add a filter"):
        await Simulator(hurried).simulate(team.id, Proposal(), examples=0, among=slow)
    await hurried.close()


async def test_only_the_newest_are_replayed_when_there_are_too_many(
    database: Database, transaction: Transactions, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.routing.simulation.MOST_DECISIONS", 3)
    monkeypatch.setattr("app.routing.simulation.AT_ONCE", 2)
    async with transaction() as session:
        decisions = Decisions(session, team.id, random.Random(0))
        await decisions.add_agents("kyra", "luke")
        for candidate in (KYRA, LUKE, KYRA, LUKE):
            await decisions.add([candidate], Policy(), None)

    simulation = await Simulator(database).simulate(team.id, Proposal(), examples=0)

    assert (simulation.replayed, simulation.capped) == (3, True)
    assert [(agent.slug, agent.first_before) for agent in simulation.agents] == [("kyra", 1), ("luke", 2)]
    assert (simulation.cost_before, simulation.cost_after) == (Decimal("0.03"), Decimal("0.03"))
