"""Chooses the media type of a response from the Accept header: by quality, then by the client's order."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

_SUPPORTED = "application/graphql-response+json, application/json or text/event-stream"
NOT_ACCEPTABLE = f"None of the media types that you accept can be produced. Accept {_SUPPORTED}."


class Media(Enum):
    """What can be produced. A wildcard means the first that it covers: JSON, as clients without a wish expect."""

    JSON = "application/json"
    GRAPHQL = "application/graphql-response+json"
    EVENTS = "text/event-stream"
    HTML = "text/html"


_BY_WILDCARD = (Media.JSON, Media.GRAPHQL)
_LONGEST_CACHED = 300
Ranges = list[tuple[str, float]]  # media type and quality


def negotiate(accept: bytes | None, *, page: bool = False) -> Media | None:
    """None when nothing that the client accepts can be produced. `page`: whether an HTML page can be."""
    if accept is None:
        return Media.JSON
    return _cached(accept, page) if len(accept) <= _LONGEST_CACHED else _choose(accept, page)


def _choose(accept: bytes, page: bool) -> Media | None:
    ranges = read_ranges(accept)
    if not ranges:
        return Media.JSON
    best: tuple[float, int] = (0.0, 0)
    chosen = None
    for media in Media:
        rank = rank_of(media.value, ranges, wild=media in _BY_WILDCARD)
        if rank > best and (page or media is not Media.HTML):
            best, chosen = rank, media
    return chosen


_cached = lru_cache(maxsize=512)(_choose)


def read_ranges(accept: bytes) -> Ranges:
    return [_parse(part) for part in accept.decode("latin-1").split(",") if part.strip()]


def rank_of(media: str, ranges: Ranges, *, wild: bool) -> tuple[float, int]:
    """Quality and earliness by the most specific range that covers the media type; (0, 0) when none does.

    `wild`: whether a wildcard may mean it.
    """
    wildcards = [media.split("/")[0] + "/*", "*/*"] if wild else []
    for name in [media, *wildcards]:
        for position, (found, quality) in enumerate(ranges):
            if found == name:
                return (quality, -position) if quality > 0 else (0.0, 0)
    return (0.0, 0)


def _parse(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            quality = _quality(parameter[2:])
    return name, quality


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


def is_json(content_type: bytes | None) -> bool:
    """Whether a request body is JSON in UTF-8, the only encoding that JSON knows between systems."""
    if content_type == b"application/json":
        return True
    if content_type is None:
        return False
    name, *parameters = (piece.strip().lower() for piece in content_type.split(b";"))
    charsets = [p[8:].strip(b'"') for p in parameters if p.startswith(b"charset=")]
    return name == b"application/json" and all(charset in (b"utf-8", b"utf8") for charset in charsets)
