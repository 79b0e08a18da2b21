"""Curates what a specialist is told: what belongs to the question, best first, within a budget of tokens. Pure.

It sees only what the requester gave and what was found for the question in the team's memory. There is no history of
conversations and no other agent's task that could slip in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.consultations.likeness import particulars, stems_of
from app.consultations.spec import ConsultationSpec, Snippet
from app.inference.sizes import CHARACTERS_PER_TOKEN, tokens_of
from app.redaction import Redaction, redacted

MOST_SIMILAR = 3
MOST = {
    "errors": 5, "snippets": 5, "attempted_approaches": 10, "files": 10, "decisions": 5,
    "similar_consultations": MOST_SIMILAR, "best_practices": 5, "tech_stack": 20,
}  # fmt: skip
_LEAST_CUT = 200  # characters: what would be shorter is left out instead


@dataclass(frozen=True, slots=True)
class Found:
    """What the team remembers that belongs to the question, best first."""

    decisions: Sequence[str] = ()
    similar: Sequence[str] = ()
    practices: Sequence[str] = ()


NOTHING = Found()


@dataclass(slots=True)
class _Room:
    left: int
    taken: dict[str, list[Any]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def fits(self, text: str) -> bool:
        if tokens_of(text) > self.left:
            return False
        self.left -= tokens_of(text)
        return True


def build(
    spec: ConsultationSpec, *, requester: str, found: Found = NOTHING, budget_tokens: int, what: Redaction
) -> dict[str, Any]:
    """The package, as it is kept and shown. The question itself counts, and is there whatever the budget."""
    given, room = spec.given, _Room(budget_tokens - tokens_of(spec.question))
    focus = f"{spec.question}\n{given.concern}\n{given.current_task}\n{' '.join(given.errors)}"
    told = {name: _cut(room, getattr(given, name)) for name in ("current_task", "concern", "project_type")}
    _take(room, "errors", _ranked(given.errors, focus, str), str)
    _take(room, "snippets", _ranked(given.snippets, focus, _snippet_text), _snippet_text, _shortened)
    _take(room, "attempted_approaches", given.attempted_approaches, str)
    _take(room, "files", _ranked(given.files, focus, str), str)
    _take(room, "decisions", found.decisions, str)
    _take(room, "similar_consultations", found.similar, str)
    _take(room, "best_practices", found.practices, str)
    _take(room, "tech_stack", given.tech_stack, str)
    package = {
        "requesting_agent": requester,
        "consultation_reason": spec.reason.value,
        "question": spec.question,
        **told,
        **{name: [_plain(one) for one in items] for name, items in room.taken.items()},
        "tokens": budget_tokens - room.left,
        "left_out": room.left_out,
    }
    clean: dict[str, Any] = redacted(package, what)
    return clean


def _take(
    room: _Room,
    name: str,
    items: Iterable[Any],
    text_of: Callable[[Any], str],
    shorten: Callable[[Any, int], Any] | None = None,
) -> None:
    """As many as may and fit, the best first; what does not fit is left out, or shortened where that makes sense."""
    taken = room.taken.setdefault(name, [])
    for item in items:
        if len(taken) < MOST[name] and room.fits(text_of(item)):
            taken.append(item)
        elif len(taken) < MOST[name] and shorten and room.left * CHARACTERS_PER_TOKEN >= _LEAST_CUT:
            taken.append(shorten(item, room.left * CHARACTERS_PER_TOKEN))
            room.left = 0
        else:
            room.left_out[name] = room.left_out.get(name, 0) + 1


def _cut(room: _Room, text: str) -> str:
    kept = text[: max(room.left, 0) * CHARACTERS_PER_TOKEN]
    room.left -= tokens_of(kept)
    return kept


def _ranked(items: Sequence[Any], focus: str, text_of: Callable[[Any], str]) -> list[Any]:
    """Those that share most with the question first; equals in the order in which they were given."""
    names, stems = particulars(focus), stems_of(focus)

    def shared(place: int) -> tuple[float, int]:
        text = text_of(items[place])
        return -(2.0 * len(names & particulars(text)) + len(stems & stems_of(text))), place

    return [items[place] for place in sorted(range(len(items)), key=shared)]


def _snippet_text(snippet: Snippet) -> str:
    return f"{snippet.file}\n{snippet.code}"


def _shortened(snippet: Snippet, most: int) -> Snippet:
    room = max(most - len(snippet.file) - 2, 0)
    return snippet.model_copy(update={"code": snippet.code[:room] + "…"})


def _plain(item: Any) -> Any:
    return {"file": item.file, "line": item.line, "code": item.code} if isinstance(item, Snippet) else item
