"""Trusted documents are registered under the hash of their text, once."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.db.transaction import Transactions
from app.documents.hashes import md5, parse_id, sha256
from app.documents.models import TrustedDocument
from app.documents.service import MAX_BODY_CHARS, MAX_DOCUMENTS, register
from app.errors import InvalidInput
from app.events.log import Actor
from app.teams.models import Team
from tests.app.conftest import Kinds

ONE, TWO = "{ viewer { name } }", "{ team { name } }"


async def stored(transaction: Transactions) -> dict[str, str]:
    async with transaction() as session:
        return {document.id: document.body for document in await session.scalars(select(TrustedDocument))}


async def test_documents_are_registered_with_one_event(
    transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    given = {f"sha256:{sha256(ONE)}": ONE, md5(TWO).upper(): TWO}

    async with transaction() as session:
        added = await register(session, team_id=team.id, documents=given, actor=actor)

    assert added == sorted([sha256(ONE), md5(TWO)])
    assert await stored(transaction) == {sha256(ONE): ONE, md5(TWO): TWO}
    assert await kinds() == ["team.documents_registered"]


async def test_registering_again_changes_nothing(
    transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    async with transaction() as session:
        await register(session, team_id=team.id, documents={sha256(ONE): ONE}, actor=actor)
    async with transaction() as session:
        again = await register(session, team_id=team.id, documents={sha256(ONE): ONE}, actor=actor)
    async with transaction() as session:
        more = await register(session, team_id=team.id, documents={sha256(ONE): ONE, sha256(TWO): TWO}, actor=actor)

    assert (again, more) == ([], [sha256(TWO)])
    assert await kinds() == ["team.documents_registered", "team.documents_registered"]


@pytest.mark.parametrize(
    ("document_id", "body", "said"),
    [
        (sha256(TWO), ONE, "is not the hash of its document's text"),
        (md5(TWO), ONE, "is not the hash of its document's text"),
        ("mine", ONE, "is not a SHA-256"),
        (sha256("x" * (MAX_BODY_CHARS + 1)), "x" * (MAX_BODY_CHARS + 1), "at most 100000 are allowed"),
        (sha256("\0"), "\0", "contains a null character"),
    ],
)
async def test_a_wrong_document_is_named_and_nothing_is_registered(
    transaction: Transactions, team: Team, actor: Actor, kinds: Kinds, document_id: str, body: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with transaction() as session:
            await register(session, team_id=team.id, documents={sha256(TWO): TWO, document_id: body}, actor=actor)

    (problem,) = refused.value.problems
    assert said in problem["message"]
    assert problem["path"].startswith(f"documents.{document_id[:20]}")
    assert await stored(transaction) == {}
    assert await kinds() == []


@pytest.mark.parametrize("count", [0, MAX_DOCUMENTS + 1])
async def test_their_number_is_limited(transaction: Transactions, team: Team, actor: Actor, count: int) -> None:
    bodies = [f"{{ f{number} }}" for number in range(count)]

    with pytest.raises(InvalidInput, match="1 to 1000 documents"):
        async with transaction() as session:
            await register(session, team_id=team.id, documents={sha256(b): b for b in bodies}, actor=actor)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sha256:" + "a" * 64, "a" * 64),
        ("A" * 64, "a" * 64),
        ("0" * 32, "0" * 32),
        ("sha256:" + "a" * 32, None),
        ("a" * 63, None),
        ("g" * 64, None),
        ("", None),
    ],
)
def test_ids(text: str, found: str | None) -> None:
    assert parse_id(text) == found
