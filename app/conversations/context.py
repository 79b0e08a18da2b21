"""What an agent is given to answer a message: who it is, what it remembers, what was said, what it is asked. Pure.

It is bounded, however long the conversation: the newest messages as they are, older ones condensed to a line each, and
of large ones the beginning, and of many references the first, with a reference to the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MOST_MESSAGES = 200  # that are looked at
MOST_RECENT = 16_000  # characters of messages that are given as they are
MOST_OF_ONE = 4_000  # of its text, and as many of its references
MOST_ASKED = 50_000  # of the question
MOST_CONDENSED = 4_000
_LINE = 160


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Traits are 0 to 1."""

    name: str
    type: str
    team: str
    role: str = ""
    tagline: str = ""
    personality: str = ""
    formality: float = 0.5
    humor: float = 0.5
    technical_depth: float = 0.5
    skills: Sequence[Skill] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `text` may be only its beginning; `length` is that of the whole. `more_artifacts` counts references
    that are left out."""

    id: str
    number: int
    author: str
    name: str
    text: str
    length: int
    artifacts: Sequence[str] = ()
    more_artifacts: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """`condensed` tells of older messages, a line each, `history` has the newest as they are; both in order."""

    identity: Identity
    question: Turn
    memories: Sequence[str] = ()
    condensed: Sequence[str] = ()
    history: Sequence[Turn] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


def assemble(
    identity: Identity,
    question: Turn,
    turns: Sequence[Turn],
    *,
    earlier: int = 0,
    memories: Sequence[str] = (),
    variables: Mapping[str, Any] | None = None,
) -> Context:
    """`turns` are what was said besides the question, in order; `earlier` messages before them were not read at all."""
    recent, left = 0, MOST_RECENT
    shortened = [_shortened(turn, MOST_OF_ONE) for turn in turns]
    for turn in reversed(shortened):
        left -= len(_said(turn))
        if left < 0:
            break
        recent += 1
    old, history = shortened[: len(shortened) - recent], shortened[len(shortened) - recent :]
    condensed, asked = _condensed(old, earlier), _cut(question, MOST_ASKED)
    return Context(identity, asked, tuple(memories), tuple(condensed), tuple(history), dict(variables or {}))


def wording(context: Context) -> str:
    """What was said before, in words."""
    parts = []
    if context.condensed:
        parts.append("Earlier, in short:\n" + "\n".join(f"- {line}" for line in context.condensed))
    parts += [_said(turn) for turn in context.history]
    if context.variables:
        known = (f"- {name}: {value}" for name, value in sorted(context.variables.items()))
        parts.append("What is known:\n" + "\n".join(known))
    return "\n\n".join(parts)


def _said(turn: Turn) -> str:
    added = "".join(f"\n(with {reference})" for reference in turn.artifacts)
    if turn.more_artifacts:
        added += f"\n(with {turn.more_artifacts} more references: {turn.id})"
    return f"{turn.name} ({turn.author}): {turn.text}{added}"


def _shortened(turn: Turn, most: int) -> Turn:
    kept, left = 0, most
    for reference in turn.artifacts:
        left -= len(reference)
        if left < 0:
            break
        kept += 1
    return replace(_cut(turn, most), artifacts=turn.artifacts[:kept], more_artifacts=len(turn.artifacts) - kept)


def _cut(turn: Turn, most: int) -> Turn:
    if turn.length <= most:
        return turn
    return replace(turn, text=f"{turn.text[:most].rstrip()}… ({turn.length:,} characters in all: {turn.id})")


def _condensed(old: Sequence[Turn], earlier: int) -> list[str]:
    lines: list[str] = []
    left = MOST_CONDENSED
    for turn in reversed(old):
        line = f"{turn.name}: {_beginning(turn.text)}"
        left -= len(line)
        if left < 0:
            break
        lines.append(line)
    missing = earlier + len(old) - len(lines)
    if missing:
        lines.append(f"{missing} messages before that are left out.")
    return lines[::-1]


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
