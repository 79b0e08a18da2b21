"""SQL expressions that render values as the JSON that GraphQL promises."""

from __future__ import annotations

from typing import Any

from graphql import GraphQLEnumType, GraphQLType, get_named_type
from sqlalchemy import ColumnElement, Text, Uuid, case, cast, func, literal_column
from sqlalchemy.dialects.postgresql import JSON

from app.ids import Prefix

_MOST_PAIRS = 50  # Postgres functions take 100 arguments
Pairs = list[tuple[str, ColumnElement[Any]]]
# As a HAVING without GROUP BY it makes one row of however many, also where no aggregate function does.
ONE_ROW: ColumnElement[bool] = literal_column("true")


def word(text: str) -> ColumnElement[str]:
    """A constant that we chose or that GraphQL's grammar limits to letters, digits and underscores."""
    return literal_column("'" + text.replace("'", "''") + "'", Text)


def json_object(pairs: Pairs) -> ColumnElement[Any]:
    """An object with its keys in this order."""
    parts = [_small_object(pairs[at : at + _MOST_PAIRS]) for at in range(0, max(len(pairs), 1), _MOST_PAIRS)]
    whole = parts[0]
    for part in parts[1:]:
        head, tail = func.left(cast(whole, Text), -1), func.substr(cast(part, Text), 2)
        whole = cast(head.op("||")(word(",")).op("||")(tail), JSON)
    return whole


def _small_object(pairs: Pairs) -> ColumnElement[Any]:
    arguments = [item for key, value in pairs for item in (word(key), value)]
    return func.json_build_object(*arguments, type_=JSON)


def json_list(item: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(func.json_agg(item), literal_column("'[]'::json"))


def global_id(prefix: Prefix, column: ColumnElement[Any]) -> ColumnElement[str]:
    return word(f"{prefix}_").op("||")(func.encode(func.uuid_send(column), word("hex")))


def rendered(column: ColumnElement[Any], graphql_type: GraphQLType, prefix: Prefix | None) -> ColumnElement[Any]:
    """A column as its GraphQL type shows it."""
    named = get_named_type(graphql_type)
    if isinstance(named, GraphQLEnumType):
        return enum_name(column, named)
    if isinstance(column.type, Uuid):
        assert prefix is not None, f"{column} is an id without a prefix"
        return global_id(prefix, column)
    return column


def enum_name(column: ColumnElement[Any], of: GraphQLEnumType) -> ColumnElement[Any]:
    names = {str(value.value): name for name, value in of.values.items()}
    text = cast(column, Text)
    if all(name == value.upper() for value, name in names.items()):
        return func.upper(text)
    if all(name == value.upper().replace(".", "_") for value, name in names.items()):
        return func.upper(func.translate(text, word("."), word("_")))
    return case({word(value): word(name) for value, name in names.items()}, value=text)
