"""Reads a GraphQL request from a JSON body, from a URL's query string or from a WebSocket payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import orjson

from graphql_schema.transport.refusals import HttpRefusal

_PARAMETERS = frozenset(["query", "operationName", "variables", "extensions", "documentId", "id", "doc_id"])
_DOCUMENT_IDS = ("documentId", "id", "doc_id")  # the specification's name, and the two that Relay's users send
MAX_URL_PARAMETERS = 20


class BadRequest(HttpRefusal):
    """Not a GraphQL request at all."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BAD_REQUEST", message)


@dataclass(slots=True)
class GraphQLRequest:
    """`query` or `document_id` is given, or both with `automatic`: Apollo's way to register a query by its hash."""

    query: str | None
    document_id: str | None
    automatic: bool
    operation_name: str | None
    variables: dict[str, Any]
    extensions: dict[str, Any]


def from_body(body: bytes) -> GraphQLRequest:
    if not body:
        raise BadRequest('The request body is empty. Send a JSON object such as {"query": "{ __typename }"}.')
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The request body is not valid JSON: {error}.") from None
    if isinstance(payload, list):
        raise BadRequest("Batched requests are not supported. Send each operation in a request of its own.")
    return from_payload(payload)


def from_query_string(raw: bytes) -> GraphQLRequest:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_URL_PARAMETERS
        )
    except ValueError:
        raise BadRequest("The URL's query string cannot be decoded. Percent-encode each parameter as UTF-8.") from None
    payload: dict[str, Any] = {name: value for name, value in pairs if name in _PARAMETERS and value}
    for name in ("variables", "extensions"):
        if name in payload:
            payload[name] = _json_parameter(name, payload[name])
    return from_payload(payload)


def names_operation(raw: bytes) -> bool:
    """Whether a URL's query string asks for an operation; without one, a browser is asking for the page."""
    return any(b"&%b=" % name in b"&" + raw for name in (b"query", b"documentId", b"extensions", b"id", b"doc_id"))


def _json_parameter(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The URL parameter '{name}' is not valid JSON: {error}.") from None


def from_payload(payload: Any) -> GraphQLRequest:
    """Check the shape of a decoded request; raises BadRequest that says which part is wrong."""
    if type(payload) is not dict:
        raise BadRequest(f"A GraphQL request is a JSON object; got {_kind(payload)}.")
    query = _optional(payload, "query", str)
    extensions = _optional(payload, "extensions", dict) or {}
    document_id, automatic = _document_id(payload), False
    if document_id is None and "persistedQuery" in extensions:
        document_id, automatic = _automatic_hash(extensions["persistedQuery"]), True
    if query == "" and document_id is not None:
        query = None  # graphql-ws clients must send a string, so beside an id they send an empty one
    if query is None and document_id is None:
        raise BadRequest("The request has no 'query' (a string) and no 'documentId'.")
    name = _optional(payload, "operationName", str)
    variables = _optional(payload, "variables", dict) or {}
    return GraphQLRequest(query, document_id, automatic, name or None, variables, extensions)


def _document_id(payload: dict[str, Any]) -> str | None:
    for name in _DOCUMENT_IDS:
        if name in payload and (found := _optional(payload, name, str)):
            return str(found)
    return None


def _automatic_hash(persisted: Any) -> str:
    found = persisted.get("sha256Hash") if isinstance(persisted, dict) else None
    if not isinstance(found, str) or not found:
        raise BadRequest("'extensions.persistedQuery' must be an object with a string 'sha256Hash'.")
    if persisted.get("version", 1) != 1:
        raise BadRequest("Only version 1 of 'extensions.persistedQuery' is supported.")
    return found


def _optional(payload: dict[str, Any], name: str, kind: type) -> Any:
    value = payload.get(name)
    if value is not None and type(value) is not kind:
        raise BadRequest(f"'{name}' must be {_KINDS[kind]}; got {_kind(value)}.")
    return value


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")
