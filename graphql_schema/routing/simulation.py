"""`simulateRouting`: the team's decisions again under another policy, as the graph shows it."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.ids import Prefix, to_global
from app.routing import simulation
from app.routing.flip import FlipCause
from app.routing.replay import Among, LeftOut, Proposal
from app.routing.score import Signals, Weights
from app.routing.select import Strategy
from graphql_schema.context import Info
from graphql_schema.planner.exits import field_path
from graphql_schema.planner.mapping import python
from graphql_schema.publish_enum import publish_enum
from graphql_schema.routing import types
from graphql_schema.routing.enums import RoutingSignal
from graphql_schema.scalars import DateTime, Usd

# A key's points of a minute allow ten, the most that one operation may cost allows one.
COST = 6_000
publish_enum(
    LeftOut,
    "Why a decision cannot be replayed: no score decided it.",
    {
        LeftOut.DIRECT: "Collaboration was off, so the named or the default agent answered.",
        LeftOut.ROUTER: "The expert gate was off, so the router's fixed order decided.",
        LeftOut.MENTION: "The message mentioned an agent, or the caller named one.",
    },
    name="SimulationLeftOutReason",
)
publish_enum(
    FlipCause,
    "What makes the first choice another.",
    {
        FlipCause.WEIGHTS: "A signal counts more or less; `signal` says which made most of the difference.",
        FlipCause.THRESHOLD: "A first choice falls below the new threshold, or did below the old one.",
        FlipCause.SKILL_FLOOR: "A first choice falls below the new skill floor, or did below the old one.",
    },
    name="RoutingFlipCause",
)


@strawberry.input(description="How much each signal would count. All four must sum to 1; at most four decimals count.")
class SimulatedWeightsInput:
    skill_match: float = strawberry.field(description="Of the skill match, 0 to 1.")
    past_performance: float = strawberry.field(description="Of the past performance, 0 to 1.")
    personality_fit: float = strawberry.field(description="Of the personality fit, 0 to 1.")
    load_balance: float = strawberry.field(description="Of the load balance, 0 to 1.")


@strawberry.type(description="Decisions that were not replayed, by the reason.")
class SimulationLeftOut:
    reason: LeftOut = strawberry.field(description="Why not.")
    decisions: int = strawberry.field(description="How many.")


@strawberry.type(description="One agent's part in the replayed decisions, before and after.")
class SimulatedAgent:
    agent_id: strawberry.ID = strawberry.field(description="Which agent, `agent_0190…`.")
    slug: str = strawberry.field(description="Its slug.")
    name: str = strawberry.field(description="Its name.")
    first_before: int = strawberry.field(description="In how many decisions it was the first choice.")
    first_after: int = strawberry.field(description="In how many it would be.")
    net: int = strawberry.field(description="How many more it would be first in; negative: fewer.")
    selected_before: int = strawberry.field(description="In how many it was selected, at any place.")
    selected_after: int = strawberry.field(description="In how many it would be.")
    answer_cost: Usd | None = strawberry.field(
        description="What one answer of it cost on average in these decisions; null when it gave none."
    )


@strawberry.type(description="The four signals of an agent for one message, each 0 to 1.")
class SimulatedSignals:
    skill_match: float = strawberry.field(description="How well its skills matched.")
    past_performance: float = strawberry.field(description="How its answers to similar messages had been rated.")
    personality_fit: float = strawberry.field(description="How well its traits fitted.")
    load_balance: float = strawberry.field(description="How free it was; 1 is idle.")


@strawberry.type(description="The first choice of a decision, before or after.")
class SimulatedChoice:
    agent_id: strawberry.ID = strawberry.field(description="Which agent, `agent_0190…`.")
    slug: str = strawberry.field(description="Its slug.")
    name: str = strawberry.field(description="Its name.")
    fallback: bool = strawberry.field(
        description="Whether it steps in as nobody matches: the default agent, or the current one."
    )
    score_before: float | None = strawberry.field(
        description="Its score under the old weights, 0 to 1; null when it was not scored."
    )
    score_after: float | None = strawberry.field(
        description="Its score under the new weights, 0 to 1; null when it was not scored."
    )
    signals: SimulatedSignals | None = strawberry.field(description="Its signals; null when it was not scored.")

    @classmethod
    def of(cls, side: simulation.Side | None) -> SimulatedChoice | None:
        if side is None:
            return None
        return cls(
            **_agent(side.agent),
            fallback=side.fallback,
            score_before=side.score_before,
            score_after=side.score_after,
            signals=None if side.signals is None else _signals(side.signals),
        )


@strawberry.type(description="A decision whose first choice would be another.")
class RoutingFlip:
    routing_decision_id: strawberry.ID = strawberry.field(
        description="Which decision, `decision_0190…`; read it with `node`."
    )
    created_at: DateTime = strawberry.field(description="When it was made.")
    query: str = strawberry.field(description="The message, up to 10,000 characters.")
    before: SimulatedChoice | None = strawberry.field(description="The first choice as it was; null: nobody.")
    after: SimulatedChoice | None = strawberry.field(description="The first choice as it would be; null: nobody.")
    cause: FlipCause = strawberry.field(description="What makes the difference.")
    signal: RoutingSignal | None = strawberry.field(
        description="The signal that makes most of the difference; null unless the weights are the cause."
    )
    difference: float | None = strawberry.field(
        description="How much of the score that signal makes up, 0 to 1; null unless the weights are the cause."
    )
    explanation: str = strawberry.field(description="The same in words.")

    @classmethod
    def of(cls, flip: simulation.Flip) -> RoutingFlip:
        return cls(
            routing_decision_id=strawberry.ID(to_global(Prefix.ROUTING_DECISION, flip.id)),
            created_at=DateTime(flip.created_at),
            query=flip.query,
            before=SimulatedChoice.of(flip.before),
            after=SimulatedChoice.of(flip.after),
            cause=flip.cause,
            signal=RoutingSignal(flip.signal) if flip.signal else None,
            difference=flip.by,
            explanation=flip.explanation,
        )


@strawberry.type(description="Ratings that are known, 0 (one star) to 1 (five).")
class KnownRatings:
    count: int = strawberry.field(description="Of how many decisions a rating is known.")
    mean: float | None = strawberry.field(description="Their mean; null without any.")

    @classmethod
    def of(cls, known: simulation.Known) -> KnownRatings:
        return cls(count=known.count, mean=known.mean)


@strawberry.type(description="What is known of how good the answers were and would be.")
class SimulatedRatings:
    kept: KnownRatings = strawberry.field(description="Of decisions whose first choice stays.")
    flipped: KnownRatings = strawberry.field(description="Of decisions whose first choice changes, as they were rated.")
    new_choice: KnownRatings = strawberry.field(
        description="Of the new first choices of flips: the rating of its own answer where it answered beside others, "
        "else its past performance, which is the mean of its ratings on similar messages. Agents without any count not."
    )


@strawberry.type(description="What the answers cost, and an estimate of what they would have.")
class SimulatedCost:
    before: Usd = strawberry.field(description="What the replayed decisions cost: actual costs, else the estimated.")
    after: Usd = strawberry.field(
        description="Each answer at the mean of what its agent's answers cost in these decisions; an agent that gave "
        "none at the mean of all. Under TOP_K and ENSEMBLE all selected answer and share a decision's cost evenly, "
        "under TOP_1 and CASCADE the first."
    )


@strawberry.type(description="The team's decisions replayed under another policy. Nothing is changed by it.")
class RoutingSimulation:
    replayed: int = strawberry.field(description="How many decisions were replayed.")
    capped: bool = strawberry.field(
        description=f"Whether older ones were left aside: the newest {simulation.MOST_DECISIONS:,} that fit are taken."
    )
    left_out: list[SimulationLeftOut] = strawberry.field(description="Decisions among them that cannot be replayed.")
    flips: int = strawberry.field(description="In how many the first choice changes.")
    flip_share: float = strawberry.field(description="Flips of all replayed, 0 to 1; 0 when none was replayed.")
    selections_changed: int = strawberry.field(
        description="In how many the selected agents change: who they are, or their order."
    )
    fallbacks_before: int = strawberry.field(
        description="In how many nobody matched, so that the default agent, the current one or nobody stepped in."
    )
    fallbacks_after: int = strawberry.field(description="In how many it would.")
    agents: list[SimulatedAgent] = strawberry.field(
        description="Every agent that was or would be selected, by slug. At most as many as the team has."
    )
    cost: SimulatedCost = strawberry.field(description="What it costs.")
    ratings: SimulatedRatings = strawberry.field(description="How good it is, as far as ratings tell.")
    examples: list[RoutingFlip] = strawberry.field(description="The newest flips, as many as asked for.")

    @classmethod
    def of(cls, found: simulation.Simulation) -> RoutingSimulation:
        return cls(
            replayed=found.replayed,
            capped=found.capped,
            left_out=[SimulationLeftOut(reason=reason, decisions=count) for reason, count in found.left_out.items()],
            flips=found.flips,
            flip_share=found.flips / (found.replayed or 1),
            selections_changed=found.selections_changed,
            fallbacks_before=found.fallbacks_before,
            fallbacks_after=found.fallbacks_after,
            agents=[_part(part) for part in found.agents],
            cost=SimulatedCost(before=Usd(found.cost_before), after=Usd(found.cost_after)),
            ratings=SimulatedRatings(
                kept=KnownRatings.of(found.kept),
                flipped=KnownRatings.of(found.flipped),
                new_choice=KnownRatings.of(found.known_of_new),
            ),
            examples=[RoutingFlip.of(flip) for flip in found.examples],
        )


def _agent(part: simulation.AgentPart) -> dict[str, Any]:
    return {"agent_id": to_global(Prefix.AGENT, part.id), "slug": part.slug, "name": part.name}


def _part(part: simulation.AgentPart) -> SimulatedAgent:
    return SimulatedAgent(
        **_agent(part),
        first_before=part.first_before,
        first_after=part.first_after,
        net=part.first_after - part.first_before,
        selected_before=part.selected_before,
        selected_after=part.selected_after,
        answer_cost=None if part.answer_cost is None else Usd(round(part.answer_cost, 6)),
    )


def _signals(signals: Signals) -> SimulatedSignals:
    return SimulatedSignals(**signals._asdict())


def _among(info: Info) -> Among:
    """The filter is compiled like that of `routingDecisions`, from the document."""
    raw, context = info._raw_info, info.context
    definition = raw.parent_type.fields[raw.field_name]
    plan = context.services.planner.matching(
        context.document, field_path(raw), "RoutingDecision", definition, raw.field_nodes[0], context.variables,
        context.principal.role,
    )  # fmt: skip
    return Among(plan.sql, plan.arguments(context.principal, context.variables))


_Filter: Any = vars(types)["RoutingDecisionFilter"]  # made with the connection
_Weights = Annotated[
    SimulatedWeightsInput | None, strawberry.argument(description="How much each signal counts; null: as it did.")
]
_Threshold = Annotated[
    float | None, strawberry.argument(description="Score from which an agent is taken, 0 to 1; null: as it was.")
]
_Floor = Annotated[
    float | None, strawberry.argument(description="Skill match from which an agent is taken, 0 to 1; null: as it was.")
]
_Strategy = Annotated[
    Strategy | None,
    strawberry.argument(
        description="How many agents answer; null: what was asked for. With ensemble_mode off at that time, TOP_K and "
        "ENSEMBLE count as TOP_1."
    ),
]
_K = Annotated[int | None, strawberry.argument(description="How many agents TOP_K takes, 1 to 20; null: as it was.")]
_Where = Annotated[
    _Filter | None,
    strawberry.argument(description="Which decisions; null: all. A filter as of `routingDecisions`."),
]
_Examples = Annotated[int, strawberry.argument(description=f"How many flips to show, 0 to {simulation.MOST_EXAMPLES}.")]


@python(
    "The team's past decisions again, under another policy: what would be decided otherwise. What is null stays as it "
    "was with each decision; with nothing given, all of them come out as they did. Replays up to a million in seconds, "
    f"so it costs {COST:,} points.",
    cost=COST,
)
async def simulate_routing(
    self: Any,
    info: Info,
    weights: _Weights = None,
    threshold: _Threshold = None,
    skill_floor: _Floor = None,
    strategy: _Strategy = None,
    k: _K = None,
    where: _Where = None,
    examples: _Examples = 10,
) -> RoutingSimulation | None:
    proposal = Proposal(
        weights=None if weights is None else Weights(**vars(weights)),
        threshold=threshold,
        skill_floor=skill_floor,
        strategy=strategy,
        k=k,
    )
    context = info.context
    whole = where is None and context.principal.agent_id is None  # an agent's key does not read all of the team's
    found = await context.services.simulator.simulate(
        context.principal.team_id, proposal, examples=examples, among=None if whole else _among(info)
    )
    return RoutingSimulation.of(found)
