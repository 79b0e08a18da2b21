"""Requests are read from bodies, URLs and payloads; each malformed part is named."""

from __future__ import annotations

import pytest

from graphql_schema.transport.request import BadRequest, GraphQLRequest, from_body, from_query_string, names_operation


def test_a_whole_request() -> None:
    body = b'{"query": "{ a }", "operationName": "A", "variables": {"b": 1}, "extensions": {"c": 2}, "more": 3}'

    assert from_body(body) == GraphQLRequest("{ a }", None, False, "A", {"b": 1}, {"c": 2})


def test_null_is_as_good_as_absent() -> None:
    body = b'{"query": "{ a }", "operationName": null, "variables": null, "extensions": null, "documentId": null}'

    assert from_body(body) == GraphQLRequest("{ a }", None, False, None, {}, {})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "body is empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"query": "\\ud800"}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"1", "is a JSON object; got a number"),
        (b'"x"', "is a JSON object; got a string"),
        (b"null", "is a JSON object; got null"),
        (b"true", "is a JSON object; got a boolean"),
        (b"[1]", "Batched requests are not supported"),
        (b'[{"query": "{ a }"}]', "Batched requests are not supported"),
        (b"{}", "no 'query'"),
        (b'{"query": 1}', "'query' must be a string; got a number"),
        (b'{"query": "{ a }", "variables": [1]}', "'variables' must be an object; got an array"),
        (b'{"query": "{ a }", "operationName": {}}', "'operationName' must be a string; got an object"),
        (b'{"query": "{ a }", "extensions": "x"}', "'extensions' must be an object; got a string"),
        (b'{"documentId": 5}', "'documentId' must be a string; got a number"),
        (b'{"extensions": {"persistedQuery": 1}}', "'sha256Hash'"),
        (b'{"extensions": {"persistedQuery": {"sha256Hash": "a", "version": 2}}}', "Only version 1"),
    ],
)
def test_what_is_malformed_is_said(body: bytes, said: str) -> None:
    with pytest.raises(BadRequest, match=said.replace("[", r"\[")) as raised:
        from_body(body)
    assert raised.value.status == 400


@pytest.mark.parametrize("name", ["documentId", "id", "doc_id"])
def test_document_ids_of_all_kinds(name: str) -> None:
    request = from_body(b'{"%b": "abc", "variables": {"a": 1}}' % name.encode())

    assert request == GraphQLRequest(None, "abc", False, None, {"a": 1}, {})


def test_automatic_persisted_query() -> None:
    request = from_body(b'{"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "abc"}}}')

    assert (request.query, request.document_id, request.automatic) == (None, "abc", True)


def test_a_url() -> None:
    request = from_query_string(b"query=query+A%28%24b%3AInt%29%7Ba%7D&variables=%7B%22b%22%3A1%7D&operationName=A&x=y")

    assert request == GraphQLRequest("query A($b:Int){a}", None, False, "A", {"b": 1}, {})


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no 'query'"),
        (b"query=%7Ba%7D&variables=1", "'variables' must be an object"),
        (b"query=%7Ba%7D&variables=%7B", "'variables' is not valid JSON"),
        (b"query=%ff", "cannot be decoded"),
        (b"query=\xc3\xa4", "cannot be decoded"),
        (b"&".join(b"a=%d" % i for i in range(30)), "cannot be decoded"),
    ],
)
def test_a_malformed_url_is_said(raw: bytes, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        from_query_string(raw)


def test_a_url_names_an_operation_or_not() -> None:
    assert names_operation(b"query=x")
    assert names_operation(b"a=1&documentId=x")
    assert not names_operation(b"subquery=1&theme=dark")
    assert not names_operation(b"")
