"""CSV: columns in the selection's order, every value back as it was, no formula left alive."""

from __future__ import annotations

import csv
import io
import re

import orjson
import pytest
from graphql import parse

from graphql_schema.exports import table
from graphql_schema.planner.rows import asked_rows
from graphql_schema.planner.selection import Selection
from graphql_schema.schema import schema

CORE = schema._schema
QUERY = """
query Wide($no: Boolean = false) {
  tasks {
    nodes {
      ...Named
      who: assignee { name skills { name } traits { humor } }
      output
      parent { id }
      subtasks(first: 2) { totalCount nodes { id } }
      inputArtifacts
      kind: __typename
      cost @skip(if: $no)
      depth @include(if: $no)
    }
  }
}
fragment Named on Task { title status }
"""
TEXTS = [
    "plain", "", " ", 'say "hi", twice', "two\nlines", "two\r\nlines", "a,b;c", "naïve café 東京 🦊", "=1+1", "+1",
    "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''-2", "'quoted", "don't", "null", "0123", "\u2028",
    "x" * 40_000,
]  # fmt: skip


def columns_of(query: str) -> list[table.CsvColumn]:
    document = parse(query)
    selection = Selection(CORE, document, {"no": False})
    assert CORE.query_type is not None
    asked = asked_rows(CORE.query_type, selection, document.definitions[0], {})  # type: ignore[arg-type]
    return table.columns(selection, asked.node, asked.fields)


def read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))


def unguarded(cell: str) -> str:
    """As the documentation says."""
    return cell[1:] if re.match(r"'+[=+\-@\t\r\n]", cell) else cell


def test_nested_objects_become_dotted_columns_in_order() -> None:
    assert table.header(columns_of(QUERY)).decode() == (
        "title,status,who.name,who.skills,who.traits.humor,output,parent.id,"
        "subtasks.totalCount,subtasks.nodes,inputArtifacts,kind,cost\r\n"
    )


def test_every_kind_of_value() -> None:
    row = {
        "title": "t", "status": "DONE", "who": {"name": "Ada", "skills": [{"name": "a,b"}], "traits": {"humor": 0.25}},
        "output": "-1", "parent": None, "subtasks": {"totalCount": -2, "nodes": []}, "inputArtifacts": ["=x"],
        "kind": "Task", "cost": 1e-7,
    }  # fmt: skip
    (line,) = read(table.encoded(columns_of(QUERY), [orjson.dumps(row)]))

    assert line == [
        "t", "DONE", "Ada", '[{"name":"a,b"}]', "0.25", '"-1"', "", "-2", "[]", '["=x"]', "Task", "1e-7",
    ]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_comes_back_and_is_no_formula(text: str) -> None:
    columns = columns_of("{ tasks { nodes { title result } } }")
    ((title, result),) = read(table.encoded(columns, [orjson.dumps({"title": text, "result": None})]))

    assert unguarded(title) == text
    assert result == ""
    assert not title.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_null_and_the_empty_text_differ() -> None:
    columns = columns_of("{ tasks { nodes { title result } } }")
    assert table.encoded(columns, [b'{"title":"","result":null}']) == b'"",\r\n'
