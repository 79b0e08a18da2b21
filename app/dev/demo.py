"""The demo team of `parley dev`: made once, then the user's to change. Its admin key is made with it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth import service as keys
from app.auth.models import ApiKey
from app.auth.roles import Role
from app.auth.tokens import hash_secret, new_secret
from app.config import Settings
from app.contracts import service as contracts
from app.db.engine import Database
from app.db.transaction import AfterCommit, Transactions
from app.dev.postgres import make_data_folder
from app.errors import ConfigurationError
from app.events.log import SYSTEM
from app.team_files import service as team_files
from app.teams import service as teams
from app.teams.models import Team

SLUG = "demo"
KEY_NAME = "demo admin"
KEY_FILE = "demo-key"
DEMO_FILE = Path(__file__).with_name("demo_team.yaml")
_SENDABLE = re.compile(r"[!-~]{16,200}")  # what fits a header, and is long enough not to be guessed at once


async def ensure_demo(settings: Settings) -> str:
    """Make the demo team and its key unless they are there; answers the key. Safe to run twice at once."""
    if settings.demo_key is not None and not _SENDABLE.fullmatch(settings.demo_key):
        raise ConfigurationError("PARLEY_DEMO_KEY must be 16 to 200 printable ASCII characters without spaces.")
    database = Database(settings)
    try:
        async with Transactions(database, dispatch=_nobody_listens)() as session:
            team = await _team(session)
            return await _key(session, team, settings)
    finally:
        await database.close()


async def _team(session: AsyncSession) -> Team:
    """Locked, so that of two starts at once the second finds everything made, the key's file too."""
    made = await teams.create(session, slug=SLUG, name="Demo team", actor=SYSTEM)
    team = await teams.lock(session, made.id)
    await contracts.add_built_in(session, team_id=team.id)
    if team.default_agent_id is None:
        await team_files.apply(session, team_id=team.id, text=DEMO_FILE.read_text(encoding="utf-8"), actor=SYSTEM)
    return team


async def _key(session: AsyncSession, team: Team, settings: Settings) -> str:
    file = settings.data_dir / KEY_FILE
    wanted = settings.demo_key or _stored(file) or new_secret()
    found = await session.scalar(select(ApiKey).where(ApiKey.hash == hash_secret(wanted)))
    if found is not None and (found.team_id != team.id or found.revoked_at is not None):
        if settings.demo_key is not None:
            raise ConfigurationError("PARLEY_DEMO_KEY is revoked or belongs to another team. Set another, or unset it.")
        found, wanted = None, new_secret()
    if found is None:
        await keys.issue(session, team_id=team.id, name=KEY_NAME, role=Role.ADMIN, secret=wanted, actor=SYSTEM)
    if settings.demo_key is None:
        _store(file, wanted)
    return wanted


def _stored(file: Path) -> str | None:
    try:
        secret = file.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return secret if _SENDABLE.fullmatch(secret) else None


def _store(file: Path, secret: str) -> None:
    """Before the commit: a key in the file that the database lacks is added at the next start, one lost stays lost."""
    if _stored(file) == secret:
        return
    make_data_folder(file.parent)
    draft = file.with_name(file.name + ".new")
    draft.unlink(missing_ok=True)  # its mode would outlive an opening
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as handle:
        handle.write(secret + "\n")
    draft.replace(file)


async def _nobody_listens(pending: AfterCommit) -> None:
    """The API is not up yet when the demo is made."""
