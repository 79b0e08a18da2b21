"""Personality fit: the manner in which a query is written against the agent's traits, by marks in the text alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.routing.profile import Traits
from app.routing.words import LONGEST

NEUTRAL = 0.5
UNSURE = 0.5  # share at which a difference counts that the query gives no hint of
ENOUGH = 2  # marks after which a hint is sure

FORMAL = re.compile(
    r"\b(please|kindly|would you|could you|regarding|furthermore|therefore|sincerely|dear|pursuant|hereby|"
    r"i would like|i would appreciate|thank you|with respect to)\b",
    re.IGNORECASE,
)
CASUAL = re.compile(
    r"\b(hey|hi|yo|gonna|wanna|gotta|kinda|dunno|nope|yeah|yep|thx|pls|btw|asap|u|ur|cool|awesome|guys|dude|stuff|"
    r"ain't|folks)\b|!!|\?\?",
    re.IGNORECASE,
)
FUNNY = re.compile(
    r"\b(lol|haha\w*|rofl|lmao|joke|jokes|funny|fun|silly|pun|meme|hilarious|witty|playful)\b|[:;]-?[)D]|[😀-😆😉😎😜😝🤣]",
    re.IGNORECASE,
)
GRAVE = re.compile(
    r"\b(urgent|serious|legal|lawsuit|compliance|incident|outage|emergency|critical|deadline|audit|complaint|breach)\b",
    re.IGNORECASE,
)
TECHNICAL = re.compile(
    r"`|[{}<>]|\b\w++\(\)|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z]{2,5}s?\b|"
    r"\b(\w+\.(py|js|ts|go|rs|java|sql|ya?ml|json))\b|"
    r"\b(api|sql|query|index|thread|async|schema|cluster|latency|regression|variance|algorithm|deploy\w*|refactor\w*|"
    r"docker|kubernetes|graphql|http|cache|database|function|class|compiler|stack trace|exception)\b"
)
PLAIN = re.compile(
    r"\b(explain like|simple words|simply|for dummies|beginner|layman|non-technical|easy|what is|what does)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Hint:
    """What a query suggests for one trait, 0 to 1, and how sure that is, 0 to 1."""

    value: float
    sure: float


@dataclass(frozen=True)
class Manner:
    formality: Hint
    humor: Hint
    technical_depth: Hint


def manner_of(text: str) -> Manner:
    looked_at = text[:LONGEST]
    return Manner(
        formality=_hint(looked_at, FORMAL, CASUAL),
        humor=_hint(looked_at, FUNNY, GRAVE),
        technical_depth=_hint(looked_at, TECHNICAL, PLAIN),
    )


def personality_fit(manner: Manner, traits: Traits) -> float:
    """1 when every trait is as the query suggests; traits that it does not hint at count half."""
    pairs = (
        (manner.formality, traits.formality),
        (manner.humor, traits.humor),
        (manner.technical_depth, traits.technical_depth),
    )
    weights = [UNSURE + (1 - UNSURE) * hint.sure for hint, _ in pairs]
    apart = sum(weight * abs(hint.value - trait) for weight, (hint, trait) in zip(weights, pairs, strict=True))
    return 1 - apart / sum(weights)


def _hint(text: str, more: re.Pattern[str], less: re.Pattern[str]) -> Hint:
    up, down = len(more.findall(text)), len(less.findall(text))
    if up + down == 0:
        return Hint(NEUTRAL, 0.0)
    return Hint((up + NEUTRAL) / (up + down + 1), min((up + down) / ENOUGH, 1.0))
