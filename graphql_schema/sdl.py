"""The schema in GraphQL's own language, as it is exported and committed."""

from __future__ import annotations

from functools import cache

from graphql import build_schema, lexicographic_sort_schema, print_schema

from graphql_schema.schema import schema


@cache
def schema_text() -> str:
    # Sorted as a copy built from its text: sorting Strawberry's own objects breaks their enums.
    return print_schema(lexicographic_sort_schema(build_schema(schema.as_str()))) + "\n"
