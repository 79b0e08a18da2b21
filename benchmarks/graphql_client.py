"""Sends one GraphQL operation to a Parley server."""

from __future__ import annotations

import http.client
import json
from typing import Any


def fetch_graphql(client: http.client.HTTPConnection, secret: str, operation: str) -> Any:
    """Returns the response as JSON. Raises AssertionError if it has errors."""
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    client.request("POST", "/graphql", json.dumps({"query": operation}), headers)
    body = client.getresponse().read()
    if b'"errors"' in body:
        raise AssertionError(f"{operation}: {body[:1000].decode()}")
    return json.loads(body)
