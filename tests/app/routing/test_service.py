"""Messages are routed by the cascade, every fallback is told, and what is stored computes to the same decision."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from sqlalchemy import update

from app.config import Flags
from app.errors import InvalidInput, NotFound
from app.events.log import SYSTEM
from app.ids import new_id
from app.routing.choice import choose
from app.routing.errors import AgentNotActive, NoAgentAvailable
from app.routing.explain import explain
from app.routing.models import MAX_QUERY, RoutingDecision, RoutingMode
from app.routing.replay import Proposal
from app.routing.router import Reason
from app.routing.score import UNITS, overall
from app.routing.select import Policy, Strategy
from app.routing.service import WORDS_ONLY
from app.routing.simulation import Simulator
from app.routing.stand_in import ALL_LEFT_OUT, CURRENT_INSTEAD, NO_DEFAULT, NO_MATCH, NOBODY, NOBODY_INSTEAD
from app.routing.team_indexes import TeamIndexes
from app.tasks import service as tasks
from app.tasks.service import Delegation
from app.tasks.spec import parse_task
from app.teams.models import Team
from tests.fixtures.switchboard import ALL_ON, NOTHING, REVIEW, Switchboard

ROUTER = Flags(agent_collaboration=True)
GATE = Flags(agent_collaboration=True, expert_gate=True)
HARD = (
    "First compare the trade-offs of sharding versus replication for our SQL database, then design a migration plan "
    "that must keep latency under 50 ms, without downtime, within a budget of 5000 USD; finally explain why, evaluate "
    "alternatives and analyze the implications for the API schema, cache, index, cluster and deploy pipeline."
)


async def test_cascade_follows_the_flags(board: Switchboard) -> None:
    await board.hire("kyra", "luke", "ada")

    direct = await board.route("@luke " + REVIEW, flags=Flags())
    named = await board.route(NOTHING, flags=Flags(), agent_id="ada")
    router = await board.route(REVIEW, flags=ROUTER, current_agent_id="kyra", strategy=Strategy.ENSEMBLE)
    gate = await board.route(REVIEW, flags=GATE, current_agent_id="luke")

    assert (direct.mode, direct.reason, board.slugs(direct)) == (RoutingMode.DIRECT, Reason.DEFAULT, ["kyra"])
    assert (named.reason, board.slugs(named), named.fallback_used) == (Reason.USER_MENTION, ["ada"], False)
    assert (router.mode, router.reason, board.slugs(router)) == (RoutingMode.ROUTER, Reason.HANDOFF, ["luke"])
    assert (router.strategy, router.asked_strategy, router.gate_latency_ms) == ("top_1", "ensemble", None)
    assert (gate.mode, gate.reason, board.slugs(gate)) == (RoutingMode.GATE, Reason.SKILL_MATCH, ["luke"])
    assert gate.gate_latency_ms is not None
    assert 0 < gate.gate_latency_ms <= gate.router_latency_ms
    assert len((await board.stored(gate)).scores) == 3
    assert (await board.stored(direct)).scores == ()
    for decision in (direct, named, router, gate):
        [vector] = await board.embedder.embed([decision.query])
        asked = "select embedder, embedding::float4[] from routing_vector where team_id = $1 and decision_id = $2"
        assert await board.database.fetchrow(asked, board.team_id, decision.id) == (decision.embedder, list(vector))


@pytest.mark.parametrize("flags", [ROUTER, GATE])
async def test_mentions_win_where_they_are_of_an_active_agent(board: Switchboard, flags: Flags) -> None:
    await board.hire("kyra", "luke", "ada", "zoe")
    await board.pause("zoe")
    expected = {
        "dear @ada, " + REVIEW: "ada",
        "(@ADA!) " + REVIEW: "ada",
        "@nobody and @zoe, then @ada: " + REVIEW: "ada",
        "@nobody " + REVIEW: "luke",
        "@zoe " + REVIEW: "luke",
        f"write to ada@example.org: {REVIEW}": "luke",
    }

    for text, slug in expected.items():
        decision = await board.route(text, flags=flags)
        assert board.slugs(decision) == [slug], text
        assert (decision.reason is Reason.USER_MENTION) == (slug == "ada")
        assert ("no agent @nobody" in str(decision.warning)) == ("@nobody" in text), text
        assert ("@zoe is paused" in str(decision.warning)) == ("@zoe" in text), text
    longest = f"@{'x' * 5_000} @{'y' * 4_000} @zoe {NOTHING}"
    board.embedder.fails = True
    told = await board.route(longest, flags=flags, strategy=Strategy.ENSEMBLE, without=["kyra"])
    board.embedder.fails = False
    assert WORDS_ONLY in str(told.warning)
    assert "1 more mention was passed over." in str(told.warning)
    assert board.slugs(await board.route(f"@nobody {REVIEW}", flags=flags, agent_id="ada")) == ["ada"]
    assert (await board.route(f"@nobody {REVIEW}", flags=flags, agent_id="ada")).warning is None
    asked = await board.route(REVIEW, flags=flags, agent_id="ada")
    assert (board.slugs(asked), asked.reason) == (["ada"], Reason.USER_MENTION)


async def test_every_fallback_is_told(board: Switchboard) -> None:
    empty = await board.route(REVIEW)
    with pytest.raises(NoAgentAvailable):
        await board.route(REVIEW, flags=Flags())
    await board.hire("kyra")
    single = await board.route("Explain an everyday question in plain words")
    off_topic = await board.route(NOTHING)
    router = await board.route(NOTHING, flags=ROUTER)
    strict = await board.route(REVIEW, threshold=1.0)
    await board.hire("luke")
    await board.pause("kyra")
    no_default = await board.route(NOTHING)
    await board.pause("luke")
    all_paused = await board.route(REVIEW)
    with pytest.raises(AgentNotActive, match="Luke is paused"):
        await board.route(REVIEW, agent_id="luke")

    assert (board.slugs(single), single.fallback_used) == (["kyra"], False)
    for decision in (off_topic, router, strict):
        assert (board.slugs(decision), decision.fallback_used, decision.warning) == (["kyra"], True, NO_MATCH)
        assert decision.reason is Reason.DEFAULT
    for decision, told in ((empty, NOBODY), (no_default, NO_DEFAULT), (all_paused, NOBODY)):
        assert (board.slugs(decision), decision.confidence) == ([], 0)
        assert (decision.fallback_used, decision.warning, decision.selected_agent_id) == (True, told, None)


@pytest.mark.parametrize("flags", [ROUTER, GATE])
async def test_who_is_left_out_is_not_chosen_as_the_default_agent_either(board: Switchboard, flags: Flags) -> None:
    await board.hire("kyra", "luke", "ada")

    current = await board.route(NOTHING, flags=flags, current_agent_id="luke", without=["kyra"])
    nobody = await board.route(NOTHING, flags=flags, without=["kyra"])
    both = await board.route(NOTHING, flags=flags, current_agent_id="luke", without=["kyra", "luke"])
    every = await board.route(NOTHING, flags=flags, without=["kyra", "luke", "ada"])
    other = await board.route(NOTHING, flags=flags, current_agent_id="luke", without=["luke"])
    asked_for = await board.route("@kyra " + NOTHING, flags=flags, without=["kyra"])
    named = await board.route(NOTHING, flags=flags, agent_id="kyra", without=["kyra"])
    await board.pause("luke")
    paused = await board.route(NOTHING, flags=flags, current_agent_id="luke", without=["kyra"])

    assert (board.slugs(current), current.reason, current.fallback_used) == (["luke"], Reason.DEFAULT, True)
    assert current.warning == CURRENT_INSTEAD
    assert current.default_agent_id == board.agents["kyra"]
    for decision, told in (
        (nobody, NOBODY_INSTEAD), (both, NOBODY_INSTEAD), (paused, NOBODY_INSTEAD), (every, ALL_LEFT_OUT)
    ):  # fmt: skip
        assert (board.slugs(decision), decision.fallback_used, decision.warning) == ([], True, told)
    assert (board.slugs(other), other.warning) == (["kyra"], NO_MATCH)
    assert (board.slugs(asked_for), board.slugs(named)) == (["kyra"], ["kyra"])
    replayed = await Simulator(board.database).simulate(board.team_id, Proposal(), examples=0)
    assert (replayed.flips, replayed.selections_changed) == (0, 0)
    assert replayed.replayed == (6 if flags is GATE else 0)


async def test_default_agent_that_is_left_out_is_not_asked_where_collaboration_is_off(board: Switchboard) -> None:
    await board.hire("kyra", "luke")

    named = await board.route(NOTHING, flags=Flags(), agent_id="kyra", without=["kyra"])
    with pytest.raises(NoAgentAvailable, match="the default agent is left out"):
        await board.route(NOTHING, flags=Flags(), without=["kyra"])

    assert board.slugs(named) == ["kyra"]


async def test_decision_tells_whom_it_left_out(board: Switchboard) -> None:
    await board.hire("kyra", "luke", "ada", "zoe")
    await board.pause("zoe")

    asked = await board.route(REVIEW, without=["luke"])
    removed = await board.route(REVIEW, conversation_id=new_id(), without=["luke", "zoe"])
    fallen = await board.route(NOTHING, current_agent_id="ada", without=["kyra"])
    nobody = await board.route(NOTHING, without=["kyra"])

    assert await board.why_not(asked, "luke") == "Luke was left out: it is the one that asked."
    assert await board.why_not(removed, "luke") == "Luke was left out: it had been removed from the conversation."
    inactive = "Zoe was no candidate: it was not active when this was decided. It is paused now."
    assert await board.why_not(removed, "zoe") == inactive
    assert (await board.why_not(fallen, "luke")).endswith(
        "so Ada, which had the conversation, answered: the default agent was left out."
    )
    assert (await board.why_not(nobody, "luke")).endswith("Nobody passed, and the default agent was left out.")
    assert "Luke was left out." in explain((await board.stored(asked)).decided)
    async with board.transaction() as session:
        await session.execute(update(RoutingDecision).values(left_out_ids=None))  # as before it was kept
    assert "or it was left out" in await board.why_not(asked, "luke")


async def test_ensemble_mode_off_takes_one_agent_and_says_so(board: Switchboard) -> None:
    await board.hire("kyra", "luke", "zoe")

    both = await board.route(REVIEW, strategy=Strategy.TOP_K, k=2)
    one = await board.route(REVIEW, flags=GATE, strategy=Strategy.ENSEMBLE)

    assert sorted(board.slugs(both)) == ["luke", "zoe"]
    assert (both.strategy, both.k, both.warning) == (Strategy.TOP_K, 2, None)
    assert len(board.slugs(one)) == 1
    assert (one.strategy, one.asked_strategy, one.ensemble_allowed) == (Strategy.TOP_1, Strategy.ENSEMBLE, False)
    assert one.warning == "ensemble_mode is off: ENSEMBLE was downgraded to TOP_1."


async def test_complexity_picks_the_tier_and_money_limits_it(board: Switchboard) -> None:
    await board.hire("kyra")
    models = {f"model_tier_{tier}": f"openai:m{tier}" for tier in range(3)}
    board.settings = board.settings.model_copy(update=models)

    easy, hard = await board.route("Hello there"), await board.route(HARD)
    asked = await board.route("Hello there", model_tier=2)
    async with board.transaction() as session:
        await session.execute(update(Team).values(day_budget_usd=Decimal("0.01")))
    poor = await board.route(HARD)

    assert (easy.selected_tier, easy.selected_model, easy.tier_override_reason) == (0, "openai:m0", None)
    assert (hard.selected_tier, hard.suggested_tier, hard.selected_model) == (2, 2, "openai:m2")
    assert hard.complexity == max(hard.complexity, hard.complexity_length) > 600
    tokens = 2_000 + -(-len(HARD) // 4)
    assert hard.estimated_cost == Decimal(tokens) * 15 / 1_000_000
    assert (asked.selected_tier, asked.suggested_tier) == (2, 0)
    assert "was asked for" in str(asked.tier_override_reason)
    assert poor.selected_tier < 2
    assert "0.01" in str(poor.tier_override_reason)


async def test_ratings_of_similar_queries_count_and_teach(board: Switchboard) -> None:
    await board.hire("kyra", "luke", "zoe")
    cold = await board.route(REVIEW)
    loser = "zoe" if board.slugs(cold) == ["luke"] else "luke"
    assert {score.candidate.signals.past_performance for score in (await board.stored(cold)).scores} == {0.7}

    assert await board.rate(cold, 5) == 1.0
    assert await board.rate(cold, 1) == 0.0  # the same rater's next word
    assert await board.rate(cold, 3, rater="max") == 0.25
    again = await board.route("Please do a code review of my pull request in Python")
    elsewhere = await board.route("Please bake bread for many guests")

    past = {
        score.candidate.slug: score.candidate.signals.past_performance for score in (await board.stored(again)).scores
    }
    assert past[board.slugs(cold)[0]] == 0.25
    assert past[loser] == 0.7
    assert board.slugs(again) == [loser]
    apart = {score.candidate.signals.past_performance for score in (await board.stored(elsewhere)).scores}
    assert apart == {0.7}

    taught = await board.route("The frobnicator quibbles at dawn", agent_id="zoe")
    before = await board.route("Why does the frobnicator quibble at dawn?")
    await board.rate(taught, 4)
    after = await board.route("Why does the frobnicator quibble at dawn?")
    assert (before.fallback_used, board.slugs(after), after.fallback_used) == (True, ["zoe"], False)
    board.embedder.name = "another"
    board.indexes = TeamIndexes(board.database, board.embedder)
    unknown = await board.route("Please do a code review of my pull request in Python")
    assert {score.candidate.signals.past_performance for score in (await board.stored(unknown)).scores} == {0.7}


async def test_open_tasks_make_an_agent_less_free(board: Switchboard) -> None:
    await board.hire("kyra", "luke")
    idle = await board.stored(await board.route(REVIEW))
    async with board.transaction() as session:
        wanted = Delegation(
            spec=parse_task({"type": "plan", "title": "Plan", "instructions": "All of it."}),
            creator_id=board.agents["kyra"],
            assignee_id=board.agents["luke"],
        )
        settings = board.settings.model_copy(update={"flags": Flags(task_delegation=True)})
        await tasks.delegate(session, team_id=board.team_id, wanted=wanted, settings=settings, actor=SYSTEM)

    busy = await board.stored(await board.route(REVIEW))

    free = [
        {score.candidate.slug: score.candidate.signals.load_balance for score in kept.scores} for kept in (idle, busy)
    ]
    assert free[0] == {"kyra": 1.0, "luke": 1.0}
    assert free[1] == {"kyra": 1.0, "luke": 0.9417}


async def test_without_the_embedder_words_decide(board: Switchboard) -> None:
    await board.hire("kyra", "luke")
    await board.route(REVIEW)
    board.embedder.fails = True

    decision = await board.route("code review of my Python pull request")

    assert (board.slugs(decision), decision.warning) == (["luke"], WORDS_ONLY)


async def test_without_the_embedder_words_decide_also_in_a_process_that_just_started(
    board: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    await board.hire("kyra", "luke")
    board.embedder.fails = True

    first = await board.route("code review of my Python pull request")
    await board.hire("zoe")
    board.embedder.fails = False
    soon = await board.route("code review of my Python pull request")
    monkeypatch.setattr("app.routing.team_indexes.RETRY_S", 0)
    board.indexes = TeamIndexes(board.database, board.embedder)
    board.embedder.fails = True
    blind = await board.indexes.get(board.team_id)
    board.embedder.fails = False
    later = await board.route("code review of my Python pull request")

    assert (board.slugs(first), first.warning) == (["luke"], WORDS_ONLY)
    assert (len((await board.stored(soon)).scores), soon.warning) == (3, None)  # another team is indexed at once
    assert blind.blind
    assert later.warning is None
    assert not (await board.indexes.get(board.team_id)).blind


async def test_bad_input_is_refused(board: Switchboard) -> None:
    await board.hire("kyra")
    for text, more in (
        ("", {}),
        (" \n ", {}),
        ("a\0b", {}),
        ("x" * (MAX_QUERY + 1), {}),
        ("y" * 1_000_000, {}),
        ("Hello", {"k": 0}),
        ("Hello", {"k": 21}),
        ("Hello", {"threshold": float("nan")}),
        ("Hello", {"threshold": 1.1}),
        ("Hello", {"model_tier": 3}),
    ):
        with pytest.raises(InvalidInput):
            await board.route(text, **more)
    for name in ("agent_id", "current_agent_id"):
        with pytest.raises(NotFound):
            await board.route("Hello", **{name: new_id()})
    for weights in ({"skill_match": 0.5}, {"skill_match": float("nan")}, {"skill_match": -1.0, "load_balance": 1.55}):
        with pytest.raises(InvalidInput):
            await board.set_policy(weights)
    assert await board.set_policy(k=3) == 1


async def test_stored_decisions_compute_to_what_was_decided(board: Switchboard) -> None:
    await board.hire("kyra", "luke", "ada", "zoe")
    rng = random.Random(7)
    texts = (REVIEW, NOTHING, "Recipes for many guests", "security bugs in pull requests", "@ada hello", HARD)

    for version in range(1, 9):
        cuts = sorted(rng.sample(range(10_001), 3))
        parts = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 10_000 - cuts[2]]
        names = ("skill_match", "past_performance", "personality_fit", "load_balance")
        await board.set_policy(
            {name: part / UNITS for name, part in zip(names, parts, strict=True)},
            threshold=rng.random(),
            skill_floor=rng.random() / 2,
            strategy=rng.choice(list(Strategy)),
            k=rng.randint(1, 4),
        )
        decision = await board.route(
            rng.choice(texts), flags=rng.choice((ALL_ON, GATE, ROUTER)), current_agent_id=rng.choice((None, "zoe"))
        )
        kept = await board.stored(decision)

        policy = Policy(
            weights=kept.weights,
            threshold=kept.decided.threshold,
            skill_floor=kept.decided.skill_floor,
            strategy=kept.decided.asked_strategy,
            k=decision.k,
            ensemble_allowed=decision.ensemble_allowed,
        )
        slugs = {agent_id: slug for slug, agent_id in board.agents.items()}
        again = choose(
            decision.mode,
            decision.query,
            [score.candidate for score in rng.sample(kept.scores, 4)],
            policy,
            current=slugs.get(decision.current_agent_id),  # type: ignore[arg-type]
            default="kyra",
        )
        assert (again.selected, again.scores) == (kept.chosen, kept.scores)
        assert (again.strategy, again.reason, again.warning) == (decision.strategy, decision.reason, decision.warning)
        assert again.confidence == kept.decided.confidence
        assert [score.overall for score in kept.scores] == [
            overall(score.candidate.signals, kept.weights) for score in kept.scores
        ]
        assert version + 1 == await board.set_policy()

    replayed = await Simulator(board.database).simulate(board.team_id, Proposal(), examples=0)
    assert replayed.replayed + sum(replayed.left_out.values()) == 8
    assert replayed.replayed > 0
    assert (replayed.flips, replayed.selections_changed) == (0, 0)
    assert replayed.fallbacks_before == replayed.fallbacks_after
