"""What everything with an id has in common."""

from __future__ import annotations

import strawberry

from graphql_schema.planner.mapping import column


@strawberry.interface(description="Something that can be read again by its id.")
class Node:
    id: strawberry.ID = column(
        "Readable, typed and stable: a word for the kind, an underscore, 32 hexadecimal digits.", filter=True
    )
