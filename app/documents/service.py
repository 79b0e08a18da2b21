"""Registers trusted documents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.documents.hashes import fits, parse_id
from app.documents.models import TrustedDocument
from app.errors import FieldProblem, InvalidInput
from app.events.kinds import EventKind
from app.events.log import Actor, append

MAX_DOCUMENTS = 1_000
MAX_BODY_CHARS = 100_000


async def register(session: AsyncSession, *, team_id: UUID, documents: dict[str, str], actor: Actor) -> list[str]:
    """Trust these documents, each under the hash of its text; returns the ids that are new.

    Registering again what is registered already changes nothing. Raises InvalidInput that names every wrong id.
    """
    checked = _checked(documents)
    rows = [{"team_id": team_id, "id": document_id, "body": body} for document_id, body in sorted(checked.items())]
    new = await session.scalars(
        insert(TrustedDocument).values(rows).on_conflict_do_nothing().returning(TrustedDocument.id)
    )
    added = sorted(new)
    if added:
        append(session, EventKind.TEAM_DOCUMENTS_REGISTERED, team_id=team_id, actor=actor, changes={"ids": added})
    return added


def _checked(documents: dict[str, str]) -> dict[str, str]:
    if not 1 <= len(documents) <= MAX_DOCUMENTS:
        raise InvalidInput.of("documents", f"must be 1 to {MAX_DOCUMENTS} documents")
    checked, problems = {}, []
    for given, body in documents.items():
        document_id = parse_id(given)
        if problem := _problem(document_id, body):
            problems.append(FieldProblem(f"documents.{given[:80]}", problem))
        elif document_id is not None:
            checked[document_id] = body
    if problems:
        raise InvalidInput(f"{len(problems)} of {len(documents)} documents cannot be registered.", problems)
    return checked


def _problem(document_id: str | None, body: str) -> str | None:
    if document_id is None:
        return "is not a SHA-256 (64 hexadecimal digits, `sha256:` may stand before them) or an MD5 (32)"
    if len(body) > MAX_BODY_CHARS:
        return f"has {len(body)} characters; at most {MAX_BODY_CHARS} are allowed"
    if "\0" in body:
        return "contains a null character"
    return None if fits(document_id, body) else "is not the hash of its document's text"
