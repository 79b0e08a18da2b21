"""What `parley dev` prints when it is ready: where to go and what to paste."""

from __future__ import annotations


def text(address: str, key: str) -> str:
    return f"""
  Parley is ready at {address}

    GraphQL   {address}/graphql
    Demo key  {key}

  Stop it with Ctrl-C; the data stays.
"""
