"""What would have been decided under another policy: a team's stored decisions replayed, and what changes told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from app.db.engine import Database
from app.errors import InvalidInput, TookTooLong
from app.routing.flip import FlipCause, why_flipped
from app.routing.packing import unpack
from app.routing.policies import WEIGHTS
from app.routing.replay import WHOLE, Among, LeftOut, Place, Proposal, Replay, Span, Statement
from app.routing.score import UNITS, Signals, Weights, overall, shown
from app.routing.select import Policy

MOST_DECISIONS = 1_000_000
AT_ONCE = 500_000  # in one statement: more are replayed by two, side by side
MOST_RUNNING = 2  # simulations in one process, each on up to two connections
MOST_EXAMPLES = 50


@dataclass(frozen=True)
class Known:
    """Ratings of 0 to 1: how many are known, and their mean; None without any."""

    count: int
    mean: float | None


@dataclass(frozen=True)
class AgentPart:
    """One agent's part before and after. `answer_cost` is the mean of what its answers cost; None when it gave none."""

    id: UUID
    slug: str
    name: str
    first_before: int
    first_after: int
    selected_before: int
    selected_after: int
    answers_before: int
    answers_after: int
    answer_cost: Decimal | None


@dataclass(frozen=True)
class Side:
    """A first choice, with its scores under the old and the new weights; both None when it was not scored. As
    `fallback` it is the default agent, or the current one where that is left out."""

    agent: AgentPart
    fallback: bool
    signals: Signals | None
    score_before: float | None
    score_after: float | None
    is_default: bool


@dataclass(frozen=True)
class Flip:
    """A decision whose first choice changes. A side is None when nobody would answer."""

    id: UUID
    created_at: datetime
    query: str
    before: Side | None
    after: Side | None
    cause: FlipCause
    signal: str | None
    by: float | None

    @property
    def explanation(self) -> str:
        reason = {
            FlipCause.THRESHOLD: "the threshold made the difference",
            FlipCause.SKILL_FLOOR: "the skill floor made the difference",
            FlipCause.WEIGHTS: f"{(self.signal or '').replace('_', ' ')} made the difference, by {shown(self.by or 0)}",
        }[self.cause]
        return f"{_told(self.after)} instead of {_told(self.before)}: {reason}."


@dataclass(frozen=True)
class Simulation:
    replayed: int
    capped: bool
    left_out: dict[LeftOut, int]
    flips: int
    selections_changed: int
    fallbacks_before: int
    fallbacks_after: int
    agents: list[AgentPart]
    cost_before: Decimal
    cost_after: Decimal
    kept: Known
    flipped: Known
    known_of_new: Known
    examples: list[Flip]


class Simulator:
    """One a process. Only so many simulations run at once, so that they cannot take all connections; others wait."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(MOST_RUNNING)

    async def simulate(
        self, team_id: UUID, proposal: Proposal, *, examples: int, among: Among | None = None
    ) -> Simulation:
        """Replay the newest decisions, at most a million. Raises InvalidInput, and TookTooLong when the database needs
        more time than one statement may; ends its statements when it is cancelled."""
        _check(proposal, examples)
        try:
            async with self._turns:
                return await _Run(self._database, Replay(team_id, proposal, among), proposal).simulation(examples)
        except asyncpg.QueryCanceledError:
            raise TookTooLong(
                "Replaying these decisions took longer than one statement may. Replay fewer: add a filter, such as a "
                "time from which on they count."
            ) from None


class _Run:
    def __init__(self, database: Database, replay: Replay, proposal: Proposal) -> None:
        self._database, self._replay, self._proposal = database, replay, proposal

    async def simulation(self, examples: int) -> Simulation:
        middle = await self._place(AT_ONCE)
        parts, last = await self._halves(middle) if middle else ([await self._figures(Span())], None)
        found = _sum(parts)
        totals, agents = found["totals"], [_part(row) for row in found["agents"]]
        before, after = _costs(agents)
        return Simulation(
            replayed=totals["replayed"],
            capped=last is not None,
            left_out={LeftOut(reason): count for reason, count in found["left_out"].items()},
            flips=totals["flips"],
            selections_changed=totals["selections_changed"],
            fallbacks_before=totals["fallbacks_before"],
            fallbacks_after=totals["fallbacks_after"],
            agents=agents,
            cost_before=before,
            cost_after=after,
            kept=_known(totals["kept_rated"], totals["kept_ratings"]),
            flipped=_known(totals["flipped_rated"], totals["flipped_ratings"]),
            known_of_new=_known(totals["known"], totals["known_ratings"]),
            examples=await self._examples(Span(after=last), examples, agents) if totals["flips"] and examples else [],
        )

    async def _halves(self, middle: Place) -> tuple[list[Any], Place | None]:
        """The figures of both halves, and the newest decision that is too old to be replayed; None without one."""
        newest, (older, last) = await _together(self._figures(Span(after=middle)), self._older(middle))
        return [newest, older], last

    async def _older(self, middle: Place) -> tuple[Any, Place | None]:
        last = await self._place(MOST_DECISIONS - AT_ONCE, Span(until=middle))
        return await self._figures(Span(after=last, until=middle)), last

    async def _place(self, newer: int, span: Span = WHOLE) -> Place | None:
        [found] = await self._fetch(self._replay.place(newer, span)) or [None]
        return found and (found["created_at"], found["id"])

    async def _figures(self, span: Span) -> Any:
        [row] = await self._fetch(self._replay.figures(span))
        return orjson.loads(row[0])

    async def _examples(self, span: Span, most: int, agents: list[AgentPart]) -> list[Flip]:
        by_id = {part.id: part for part in agents}
        rows = await self._fetch(self._replay.flips(span, most))
        # A decision that was made in between may name an agent that the figures do not have.
        known = [row for row in rows if {row["before_id"], row["after_id"]} <= {None, *by_id}]
        return [_flip(row, self._proposal, by_id) for row in known]

    async def _fetch(self, statement: Statement) -> list[Any]:
        # Postgres cannot know how few different outcomes there are, and would sort all decisions to find them.
        async with self._database.tuned(enable_sort="off") as connection:
            rows: list[Any] = await connection.fetch(statement.sql, *statement.arguments)
            return rows


async def _together(*work: Awaitable[Any]) -> list[Any]:
    """All of it at once; what still runs when one part fails is cancelled."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _sum(parts: list[Any]) -> dict[str, Any]:
    totals: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    agents: dict[str, dict[str, Any]] = {}
    for part in parts:
        totals.update({name: value or 0 for name, value in part["totals"].items()})
        left_out.update(part["left_out"] or {})
        for row in part["agents"] or ():
            row["cost"] = Decimal(row["cost"])
            known = agents.get(row["slug"], {})
            agents[row["slug"]] = {
                name: value if isinstance(value, str) else known.get(name, 0) + value for name, value in row.items()
            }
    return {"totals": totals, "left_out": left_out, "agents": [agents[slug] for slug in sorted(agents)]}


def _check(proposal: Proposal, examples: int) -> None:
    given = {name: value for name, value in vars(proposal).items() if value is not None}
    Policy(**given)
    if not 0 <= examples <= MOST_EXAMPLES:
        raise InvalidInput.of("examples", f"must be 0 to {MOST_EXAMPLES}")


def _part(row: dict[str, Any]) -> AgentPart:
    cost, answers = row.pop("cost"), row["answers_before"]
    return AgentPart(**row | {"id": UUID(row["id"])}, answer_cost=cost / answers if answers else None)


def _costs(agents: list[AgentPart]) -> tuple[Decimal, Decimal]:
    """Each answer costs what its agent's answers cost on average; an agent that gave none costs the mean of all."""
    before = sum((part.answers_before * part.answer_cost for part in agents if part.answer_cost is not None), Decimal())
    mean = before / (sum(part.answers_before for part in agents) or 1)
    costs = [part.answers_after * (mean if part.answer_cost is None else part.answer_cost) for part in agents]
    return round(before, 6), round(sum(costs, Decimal()), 6)


def _known(count: int, total: float) -> Known:
    return Known(count, total / count if count else None)


def _flip(row: Any, proposal: Proposal, agents: dict[UUID, AgentPart]) -> Flip:
    old = Policy(
        weights=Weights(*(row[f"{name}_weight"] / UNITS for name in WEIGHTS)),
        threshold=row["threshold"] / UNITS,
        skill_floor=row["skill_floor"] / UNITS,
    )
    new = Policy(
        weights=proposal.weights or old.weights,
        threshold=old.threshold if proposal.threshold is None else proposal.threshold,
        skill_floor=old.skill_floor if proposal.skill_floor is None else proposal.skill_floor,
    )
    signals = dict(zip(row["candidate_ids"], map(unpack, row["candidate_signals"]), strict=True))
    default_id = row["default_agent_id"]
    before = _side(agents.get(row["before_id"]), row["fallback_used"], default_id, signals, old, new)
    after = _side(agents.get(row["after_id"]), row["falls_back"], default_id, signals, old, new)
    why = why_flipped(_chosen(before), _chosen(after), old, new)
    return Flip(row["id"], row["created_at"], row["query"], before, after, why.cause, why.signal, why.by)


def _side(
    agent: AgentPart | None,
    fallback: bool,
    default_id: UUID | None,
    signals: dict[UUID, Signals],
    old: Policy,
    new: Policy,
) -> Side | None:
    if agent is None:
        return None
    own, is_default = signals.get(agent.id), agent.id == default_id
    if own is None:
        return Side(agent, fallback, None, None, None, is_default)
    return Side(agent, fallback, own, overall(own, old.weights), overall(own, new.weights), is_default)


def _chosen(side: Side | None) -> Signals | None:
    return None if side is None or side.fallback else side.signals


def _told(side: Side | None) -> str:
    if side is None:
        return "nobody"
    if not side.fallback:
        return side.agent.name
    return f"{side.agent.name} as the {'default' if side.is_default else 'current'} agent"
