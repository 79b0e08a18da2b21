"""Cursors into the event log: opaque text outside, team, position and event inside."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from uuid import UUID

from app.errors import AppError

_FORMAT = ">B4sq16s"  # version, team tag, position, event
_VERSION = 1
LAST_ID = UUID(int=2**128 - 1)  # behind every event of its position


class InvalidCursor(AppError):
    """A cursor that this stream cannot start from; `reason` says why, stably."""

    code = "INVALID_CURSOR"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, reason=reason)


@dataclass(frozen=True, slots=True, order=True)
class EventCursor:
    position: int
    event_id: UUID
    team_id: UUID

    def encode(self) -> str:
        packed = struct.pack(_FORMAT, _VERSION, _tag(self.team_id), self.position, self.event_id.bytes)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def encoded(team_id: str, position: str, event_id: str) -> str:
    """SQL that makes the same text, of SQL for its parts."""
    packed = (
        f"'\\x01'::bytea || substring(uuid_send({team_id}) from 13) || int8send({position}) || uuid_send({event_id})"
    )
    return f"rtrim(translate(encode({packed}, 'base64'), '+/', '-_'), '=')"


def decode(text: str, team_id: UUID) -> EventCursor:
    """Raises InvalidCursor for text that is no cursor, or the cursor of another team."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        version, tag, position, event = struct.unpack(_FORMAT, raw)
        if version != _VERSION or position < 0:
            raise ValueError
    except (binascii.Error, struct.error, ValueError):
        raise InvalidCursor(
            "MALFORMED", "This is not an event cursor. Use one from an event, a caught-up marker or a mutation payload."
        ) from None
    if tag != _tag(team_id):
        raise InvalidCursor("OTHER_TEAM", "This cursor belongs to another team.")
    return EventCursor(position=position, event_id=UUID(bytes=event), team_id=team_id)


def _tag(team_id: UUID) -> bytes:
    return team_id.bytes[-4:]
