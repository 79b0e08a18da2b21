"""Says of what kind a memory is when nobody said it: by cues in its words and by what it resembles. Pure.

Nothing is shared on a guess: what is not surely team-relevant stays with the agent that learned it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.memories.models import MemoryKind

SURE = 0.5  # confidence from which something is shared that an agent could keep to itself
WEIGHT_OF_LIKENESS = 6.0
SHARPNESS = 1.6

PRIVATE, SHARED, EPISODIC = MemoryKind.PRIVATE, MemoryKind.SHARED, MemoryKind.EPISODIC
PROCEDURAL, USER_PROFILE = MemoryKind.PROCEDURAL, MemoryKind.USER_PROFILE

EXAMPLES: Mapping[MemoryKind, tuple[str, ...]] = {
    PRIVATE: (
        "Note to self: my last draft was too long.",
        "I am not sure whether I understood the task.",
        "I should check my own answer again before I send it.",
        "I find tables easier to explain than prose.",
    ),
    SHARED: (
        "The company switched its database to PostgreSQL.",
        "Our customer is a bank in Vienna with 40 branches.",
        "The team releases a new version every second Tuesday.",
        "The production server runs in Frankfurt.",
        "The budget for the project is 20,000 euros.",
        "The deadline for the product launch moved to June.",
    ),
    EPISODIC: (
        "Yesterday the client called and complained about the delay.",
        "In the meeting on Monday we discussed the new logo.",
        "The conversation was handed over to Luke because of a bug.",
        "Last week the deployment failed and was rolled back.",
    ),
    PROCEDURAL: (
        "To publish an article, first run the spell checker, then open a pull request.",
        "Always ask for the order number before you look anything up.",
        "Never send an invoice without a second pair of eyes.",
        "When a test fails, read the log before you change the code.",
    ),
    USER_PROFILE: (
        "The user prefers short answers in German.",
        "She is a vegetarian and lives in Lisbon.",
        "His name is Tom and he works as a nurse.",
        "The user likes dark mode and dislikes emoji.",
    ),
}
_CUES: tuple[tuple[MemoryKind, float, re.Pattern[str], str], ...] = tuple(
    (kind, weight, re.compile(pattern, re.IGNORECASE), why)
    for kind, weight, pattern, why in (
        (PRIVATE, 2.0, r"\bnote to (my)?self\b|\bmy own\b|\bremind me\b", "it is a note to oneself"),
        (PRIVATE, 1.2, r"\bI(?:'m| am)? (?:should|must|need to|find|feel|think|guess|(?:not |un)sure)\b", "it is mine"),
        (PRIVATE, 0.6, r"\b(?:I|my|me)\b", "it speaks of me"),
        (SHARED, 1.4, r"\b(?:our|we|company|team|organi[sz]ation|customers?|clients?|project|product|department)\b",
         "it is about the whole team, its company or its customers"),
        (SHARED, 0.8, r"\b(?:switched|moved|migrated|changed|renamed|runs?|uses?|costs?|deadline|budget|launch)\b",
         "it states how something is now"),
        (EPISODIC, 1.8, r"\b(?:yesterday|today|tonight|last (?:week|month|night|year)|this morning|\d+ days? ago)\b",
         "it tells when something happened"),
        (EPISODIC, 1.2, r"\b(?:meeting|called|discussed|complained|handed (?:over|off)|rolled back|agreed|decided)\b",
         "it tells what happened"),
        (PROCEDURAL, 1.8, r"^\W*(?:always|never|make sure|remember to|do not|don't|first|step \d)\b|\bhow to\b",
         "it tells what to do"),
        (PROCEDURAL, 1.2,
         r"\b(?:before|after|when|if|whenever)\b.{1,200}\b(?:run|ask|check|open|send|read|use|call|write)\b",
         "it tells what to do when"),
        (PROCEDURAL, 1.0, r"\bfirst\b.{1,400}\bthen\b", "it tells steps in order"),
        (USER_PROFILE, 1.8, r"\bthe user (?:is|has|likes|dislikes|prefers|wants|lives|works|speaks|hates|loves)\b",
         "it describes the user"),
        (USER_PROFILE, 1.2, r"\b(?:his|her|their) (?:name|birthday|job|hobby|wife|husband|language)\b|\bcall me\b",
         "it describes a person"),
        (USER_PROFILE, 0.8, r"\b(?:s?he|they) (?:is|are|likes?|prefers?|lives?|works?|speaks?)\b", "it is on a person"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Classified:
    """`confidence` is 0 to 1: how much more this kind fits than the others."""

    kind: MemoryKind
    confidence: float
    reason: str


def classify(
    text: str, likeness: Mapping[MemoryKind, float] | None = None, *, owned: bool, has_subject: bool
) -> Classified:
    """`likeness` is the cosine to the most similar examples of each kind; without it words decide alone.

    `owned`: there is an agent to keep it to itself. Only what names its subject can be of a user's profile.
    """
    if has_subject:
        return Classified(USER_PROFILE, 1.0, "It was said whom it is about.")
    points, reasons = _points(text, likeness or {})
    possible = [kind for kind in MemoryKind if kind is not USER_PROFILE and (owned or kind is not PRIVATE)]
    weights = {kind: math.exp(SHARPNESS * points[kind]) for kind in possible}
    best = max(possible, key=lambda kind: weights[kind])
    confidence = round(weights[best] / sum(weights.values()), 4)
    if owned and best is not PRIVATE and confidence < SURE:
        return Classified(PRIVATE, round(1 - confidence, 4), f"Not surely {best.value}, so it stays with the agent.")
    return Classified(best, confidence, _sentence(reasons.get(best, ())))


def _points(
    text: str, likeness: Mapping[MemoryKind, float]
) -> tuple[dict[MemoryKind, float], dict[MemoryKind, list[str]]]:
    usual = sum(likeness.values()) / len(likeness) if likeness else 0.0
    points = {kind: WEIGHT_OF_LIKENESS * (likeness.get(kind, usual) - usual) for kind in MemoryKind}
    reasons: dict[MemoryKind, list[str]] = {}
    for kind, weight, pattern, why in _CUES:
        if pattern.search(text):
            points[kind] += weight
            reasons.setdefault(kind, []).append(why)
    return points, reasons


def _sentence(reasons: list[str] | tuple[str, ...]) -> str:
    told = "; ".join(reasons) if reasons else "it resembles others of this kind"
    return f"{told[0].upper()}{told[1:]}."
