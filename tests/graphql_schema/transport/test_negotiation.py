"""The Accept header decides by quality, then by order; SSE and pages only when they are asked for by name."""

from __future__ import annotations

import pytest

from graphql_schema.transport.negotiation import Media, is_json, negotiate

BROWSER = b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
URQL = (
    b"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)
APOLLO = b"application/graphql-response+json,application/json;q=0.9"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, Media.JSON),
        (b"", Media.JSON),
        (b"*/*", Media.JSON),
        (b"application/*", Media.JSON),
        (b"application/json", Media.JSON),
        (b"application/json; charset=utf-8", Media.JSON),
        (b"APPLICATION/JSON", Media.JSON),
        (b"application/graphql-response+json", Media.GRAPHQL),
        (b"application/graphql-response+json, application/json", Media.GRAPHQL),
        (b"application/json, application/graphql-response+json", Media.JSON),
        (b"application/json;q=0.5, application/graphql-response+json;q=0.9", Media.GRAPHQL),
        (b"application/graphql-response+json;q=0, */*", Media.JSON),
        (b"application/json;q=0, */*", Media.GRAPHQL),
        (b"application/graphql-response+json;q=0.1, */*;q=0.5", Media.JSON),
        (APOLLO, Media.GRAPHQL),
        (URQL, Media.GRAPHQL),
        (b"text/event-stream", Media.EVENTS),
        (b"text/event-stream, application/json", Media.EVENTS),
        (b"application/json;q=0.9, text/event-stream", Media.EVENTS),
        (b"text/event-stream;q=0.4, application/json;q=0.5", Media.JSON),
        (b"text/*", None),
        (b"image/png", None),
        (b"application/json;q=0", None),
        (b"text/html", None),
        (BROWSER, Media.JSON),
        (b"application/json;q=high", None),
        (b", ,application/json", Media.JSON),
        (b"x" * 5_000 + b",application/json", Media.JSON),
    ],
)
def test_media_type_of_a_response(accept: bytes | None, media: Media | None) -> None:
    assert negotiate(accept) is media


@pytest.mark.parametrize(
    ("accept", "media"),
    [(BROWSER, Media.HTML), (b"*/*", Media.JSON), (b"application/json, text/html", Media.JSON), (None, Media.JSON)],
)
def test_a_page_is_for_browsers(accept: bytes | None, media: Media) -> None:
    assert negotiate(accept, page=True) is media


@pytest.mark.parametrize(
    ("content_type", "accepted"),
    [
        (b"application/json", True),
        (b"application/json; charset=utf-8", True),
        (b'Application/JSON;charset="UTF-8"', True),
        (b"application/json; charset=utf-16", False),
        (b"application/json; charset=latin-1", False),
        (b"application/jsonp", False),
        (b"application/graphql", False),
        (b"text/plain", False),
        (b"multipart/form-data; boundary=x", False),
        (b"", False),
        (None, False),
    ],
)
def test_only_json_in_utf8_is_a_request(content_type: bytes | None, accepted: bool) -> None:
    assert is_json(content_type) is accepted
