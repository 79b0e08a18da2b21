"""The quick count of tokens and fields agrees with graphql-core and takes linear time."""

from __future__ import annotations

import pytest
from graphql import (
    FieldNode,
    Lexer,
    Source,
    TokenKind,
    get_introspection_query,
    parse,
    visit,
)
from graphql.language.visitor import Visitor
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from graphql_schema.transport.lexicon import count, tokens

SAMPLES = [
    "{ a }",
    'query Q($a: Int = 3, $b: [String!]! @d) @e(f: {g: 1}) { x: a(b: $b, c: [1 2 3], d: {e: "f"}) @skip(if: true) b }',
    "{ ... on A { on } ...F ... @include(if: true) { b } } fragment F on B @c { on: on type query fragment }",
    'mutation { say(text: """block "quoted" \\""" # no comment""") } # comment { a b }',
    '{ a(b: "esc \\" \\\\ \\u0041 # {") , , c }\r\n#x\r{ d }',
    "subscription { a(n: -1.5e+10, e: ENUM, v: null) { b { c } d } }",
    get_introspection_query(),
]


def lexed(text: str) -> int:
    lexer, found = Lexer(Source(text)), 0
    while (token := lexer.lookahead()).kind is not TokenKind.EOF:
        found += 1
        lexer.token = token
        while token.prev is not None and token.prev.kind is TokenKind.COMMENT:
            found += 1
            token = token.prev
    return found


class FieldCounter(Visitor):
    fields = 0

    def enter_field(self, node: FieldNode, *_: object) -> None:
        self.fields += 1


def fields_of(text: str) -> int:
    counter = FieldCounter()
    visit(parse(text), counter)
    return counter.fields


@pytest.mark.parametrize("text", SAMPLES)
def test_fields_are_counted_as_the_parser_finds_them(text: str) -> None:
    assert count(tokens(text)).fields == fields_of(text)


@pytest.mark.parametrize("text", SAMPLES[:3] + SAMPLES[5:])
def test_tokens_are_counted_as_the_lexer_finds_them(text: str) -> None:
    assert len(tokens(text)) == lexed(text)


def test_comments_and_strings_are_one_token_each() -> None:
    assert tokens('a "b c" """d "e" \\""" f""" # g { h\n "i') == ["a", '"b c"', '"""d "e" \\""" f"""', "# g { h", '"i']


names = st.sampled_from(["a", "on", "query", "fragment", "x1"])
selections = st.recursive(
    st.builds("{}{}".format, st.sampled_from(["", "z: "]), names)
    | st.builds("{}(v: [{}])".format, names, st.lists(st.sampled_from(["1", '"{"', "$v", "{k: A}"])).map(" ".join)),
    lambda inner: st.builds(
        "{} {{ {} }}".format,
        names | st.just("...") | st.just("... on T") | st.just("... @d"),
        st.lists(inner, min_size=1).map(" ".join),
    ),
    max_leaves=8,
)


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(selections, min_size=1, max_size=5).map(" ".join))
def test_any_selection_is_counted_exactly(inside: str) -> None:
    text = f"{{ {inside} }}"

    assert count(tokens(text)).fields == fields_of(text)
    assert len(tokens(text)) == lexed(text)


@given(st.text(alphabet='"\\#{}()@:.\n $a1é\ufeff', max_size=200))
def test_any_text_can_be_counted(text: str) -> None:
    found = tokens(text)

    assert len(found) <= len(text)
    count(found)
