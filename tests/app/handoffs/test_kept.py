"""The same text under the same clause is judged once, by each judge; what is old is forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import text

from app.db.transaction import Transactions
from app.handoffs.condition.evaluation import Verdict
from app.handoffs.judging import kept
from app.teams.models import Team


class Counting:
    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []

    async def judge(self, reply: str, statements: Sequence[str]) -> Mapping[str, Verdict]:
        self.asked += statements
        return {statement: Verdict(0.75, f"{self.name} of “{reply}”") for statement in statements}


async def test_a_verdict_is_kept_until_it_is_old(transaction: Transactions, team: Team) -> None:
    one, other = Counting("one"), Counting("other")

    async def judged(judge: Counting, reply: str, *statements: str) -> Mapping[str, Verdict]:
        async with transaction() as session:
            return await kept.judged(session, judge, team_id=team.id, reply=reply, statements=statements)

    first = await judged(one, "Done.", "draft complete", "approved")
    again = await judged(one, "Done.", "approved", "ready")
    await judged(one, "Done!", "approved")
    theirs = await judged(other, "Done.", "approved")

    assert one.asked == ["draft complete", "approved", "ready", "approved"]
    assert again["approved"] == first["approved"] == Verdict(0.75, "one of “Done.”")
    assert theirs["approved"].reason == "other of “Done.”"
    async with transaction() as session:
        await session.execute(
            text("update clause_verdict set created_at = now() - interval '8 days' where reason ~ '^one'")
        )
        assert await kept.forget_old(session, days=7) == 4
    await judged(one, "Done.", "approved")
    assert len(one.asked) == 5


async def test_more_clauses_than_a_statement_has_arguments_are_judged(transaction: Transactions, team: Team) -> None:
    most = [f"clause {number}" for number in range(33_000)]
    many = most[:9_000]
    judge = Counting("one")
    async with transaction() as session:
        made = await kept.judged(session, judge, team_id=team.id, reply="Done.", statements=many)
    async with transaction() as session:
        found = await kept.known(session, judge.name, team_id=team.id, reply="Done.", statements=most)

    assert len(made) == len(many)
    assert found == made
