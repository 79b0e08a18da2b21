"""Keeps verdicts, so that the same text under the same clause is judged once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, func, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.handoffs.condition.evaluation import Verdict
from app.handoffs.judging.judge import Judge
from app.handoffs.models import MAX_REASON, ClauseVerdict

# One array however many clauses there are: a statement takes 32,767 arguments and no more.
_KNOWN = text(
    "select digest, confidence, reason from clause_verdict "
    "where team_id = :team_id and digest = any(cast(:digests as bytea[]))"
)
_KEEP = text(
    "insert into clause_verdict (team_id, digest, confidence, reason) "
    "select :team_id, one.digest, one.confidence, one.reason from unnest("
    "cast(:digests as bytea[]), cast(:confidences as double precision[]), cast(:reasons as text[])"
    ") as one(digest, confidence, reason) on conflict do nothing"
)


async def judged(
    session: AsyncSession, judge: Judge, *, team_id: UUID, reply: str, statements: Sequence[str]
) -> dict[str, Verdict]:
    """Verdicts that are kept already and, for the rest, new ones. In the caller's transaction: only for a judge that
    needs no network."""
    found = await known(session, judge.name, team_id=team_id, reply=reply, statements=statements)
    if missing := [statement for statement in statements if statement not in found]:
        made = await judge.judge(reply, missing)
        await keep(session, judge.name, team_id=team_id, reply=reply, made=made)
        found |= made
    return found


async def known(
    session: AsyncSession, judge: str, *, team_id: UUID, reply: str, statements: Sequence[str]
) -> dict[str, Verdict]:
    """What this judge said before."""
    if not statements:
        return {}
    digests = {_digest(judge, reply, statement): statement for statement in statements}
    rows = await session.execute(_KNOWN, {"team_id": team_id, "digests": list(digests)})
    return {digests[row.digest]: Verdict(row.confidence, row.reason) for row in rows}


async def keep(session: AsyncSession, judge: str, *, team_id: UUID, reply: str, made: Mapping[str, Verdict]) -> None:
    by_digest = {_digest(judge, reply, statement): verdict for statement, verdict in made.items()}
    digests = sorted(by_digest)  # in one order, against deadlocks
    if digests:
        columns = {
            "team_id": team_id,
            "digests": digests,
            "confidences": [by_digest[one].confidence for one in digests],
            "reasons": [by_digest[one].reason[:MAX_REASON] for one in digests],
        }
        await session.execute(_KEEP, columns)


async def forget_old(session: AsyncSession, *, days: int) -> int:
    old = ClauseVerdict.created_at < func.now() - func.make_interval(0, 0, 0, days)
    return len((await session.execute(delete(ClauseVerdict).where(old).returning(ClauseVerdict.digest))).all())


def _digest(judge: str, reply: str, statement: str) -> bytes:
    whole = hashlib.sha256()
    for part in (judge, reply, statement):
        whole.update(hashlib.sha256(part.encode(errors="replace")).digest())
    return whole.digest()
