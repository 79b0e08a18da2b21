"""Recognises work that is given out again and again: the same agent asks the same agent for the same thing."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Any

import orjson

from app.tasks.errors import OscillationDetected

MAX_REPEATS = 2  # how often the same may be asked within one tree


def normalised(text: str) -> str:
    """The text without what makes no difference to its meaning: case, space, and ways to write the same letter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def fingerprint(
    *, instructions: str, context: str, artifacts: Sequence[str], contract_input: dict[str, Any] | None
) -> bytes:
    """Equal for tasks that are given the same."""
    given = [normalised(instructions), normalised(context), sorted(artifacts), contract_input]
    return hashlib.sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).digest()


def check_repeats(times_before: int, chain: Sequence[str], what: str | None = None) -> None:
    """Raises OscillationDetected; the chain is that of the agents, the one asked again last. `what` says what would be
    repeated, where that is not a task."""
    if times_before >= MAX_REPEATS:
        raise OscillationDetected(chain, MAX_REPEATS, what)
