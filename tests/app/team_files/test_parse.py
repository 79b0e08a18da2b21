"""Every problem of a team file is named with its line and field."""

from __future__ import annotations

import time

import pytest

from app.errors import InvalidInput
from app.team_files.parse import MOST_PROBLEMS_SHOWN, parse
from app.teams.models import AfterWork
from tests.app.team_files.conftest import Complaints


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (1, "file", "is empty")),
        ("# only a comment\n", (1, "file", "is empty")),
        ("- a\n- b\n", (1, "file", "must be a mapping")),
        ("name: x\n\tdescription: y\n", (2, "file", "a tab may not indent")),
        ("name: x\ndescription: a: b\n", (2, "file", "needs quotes")),
        ("name: [a,\n b\nc", (3, "file", "did not find expected ',' or ']'")),
        ("name: 'x", (1, "file", "unexpected end of stream")),
        ("name: x\n---\nname: y\n", (2, "file", "second YAML document")),
        ("name: x\n? [a]\n: b\n", (2, "file", "a key must be a single word")),
        ("name: x\n\x07", (2, "file", "U+0007")),
        ('name: x\ndescription: "\\0"\n', (2, "description", "cannot be stored")),
        ("name: x\nname: y\n", (2, "name", "the first is on line 1")),
        ("name: x\ndescripton: y\n", (2, "descripton", "did you mean description?")),
        ("description: y\n", (1, "name", "is needed")),
        ("name: 12\n", (1, "name", "must be text")),
        ("name: x\nversion: 2\n", (2, "version", "must be 1, not '2'")),
        ("name: x\nafter_work_behavior: stop\n", (2, "after_work_behavior", "return_to_user, terminate or continue")),
        ("name: x\nmessage_policy: closed\n", (2, "message_policy", "must be open or hub_and_spoke")),
        ("name: x\nagents: {a: b}\n", (2, "agents", "must be a list")),
        ("name: x\nagents:\n  - a\n", (3, "agents.0", "must be a mapping")),
        ("name: x\nagents:\n  - name: 日本\n", (3, "agents.0.slug", "is needed")),
        ("name: x\nagents:\n  - name: any_agent\n", (3, "agents.0.slug", "'any-agent' is reserved")),
        ("name: x\nagents:\n  - name: A\n    slug: A b\n", (4, "agents.0.slug", "lower-case letters")),
        ("name: x\nagents:\n  - name: A\n    type: revewer\n", (4, "agents.0.type", "did you mean reviewer?")),
        ("name: x\nagents:\n  - name: A\n    type: custom\n", (3, "agents.0.custom_type", "is needed for the type")),
        ("name: x\nagents:\n  - name: A\n    traits:\n      humor: 2\n", (5, "agents.0.traits.humor", "at most 1")),
        ("name: x\nagents:\n  - name: A\n    skils: []\n", (4, "agents.0.skils", "did you mean skills?")),
        ("name: x\ncontext_variables:\n  Big: 1\n", (3, "context_variables.Big", "lower-case")),
        ("name: x\ncontext_variables:\n  a: [1]\n", (3, "context_variables.a", "must be a number, text")),
        ("name: x\ncontext_variables:\n  a:\n", (3, "context_variables.a", "must be a number, text")),
        ("name: x\ncontext_variables:\n  a: 1e99\n", (3, "context_variables.a", "must lie between")),
        ("name: x\ncontext_variables:\n  a: 1e999\n", (3, "context_variables.a", "too large a number")),
        ("name: x\nfeature_flags:\n  expert_gat: true\n", (3, "feature_flags.expert_gat", "did you mean expert_gate?")),
        ("name: x\nfeature_flags:\n  expert_gate: 1\n", (3, "feature_flags.expert_gate", "true or false")),
        ("name: x\ndefault_agent: a\n", (2, "default_agent", "there is no agent 'a' in this file")),
        ("name: !!python/object:os.system x\n", (1, "name", "team files take no tags")),
        ("name: &a x\n", (1, "name", "team files take no anchors")),
    ],
)
def test_a_problem_is_named_with_its_line_and_field(
    complaints: Complaints, text: str, expected: tuple[int, str, str]
) -> None:
    found = complaints(text)

    assert len(found) == 1
    assert found[0][:2] == expected[:2]
    assert expected[2] in found[0][2]


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        ("from_agent: a, to_agent: bb, condition: x", "to_agent", "there is no agent 'bb'"),
        ("from_agent: a, to_agent: any_agent, condition: x", "to_agent", "cannot be any_agent"),
        ("from_agent: previous_agent, to_agent: a, condition: x", "from_agent", "cannot be previous_agent"),
        ("from_agent: a, to_agent: a, condition: x", "to_agent", "must be another agent"),
        ("from_agent: a, to_agent: b, condition: ' '", "condition", "1 or more characters"),
        ("from_agent: a, to_agent: b, condition: 'n > {{ limit'", "condition", "begins a variable"),
        ("from_agent: a, to_agent: b, condition: 'n > {{ a b }}'", "condition", "begins a variable"),
        ("from_agent: a, to_agent: b, condition: x, priority: 0", "priority", "at least 1"),
        ("from_agent: a, to_agent: b, condition: x, priority: true", "priority", "must be a whole number"),
        ("from_agent: a, to_agent: b", "condition", "is needed"),
    ],
)
def test_a_bad_handoff_is_named(complaints: Complaints, rule: str, field: str, message: str) -> None:
    text = f"name: x\ncontext_variables: {{limit: 3}}\nagents: [{{name: a}}, {{name: b}}]\nhandoffs:\n  - {{{rule}}}\n"

    found = complaints(text)

    assert [(line, path) for line, path, _ in found] == [(5, f"handoffs.0.{field}")]
    assert message in found[0][2]


def test_all_problems_are_told_in_the_order_of_the_file(complaints: Complaints) -> None:
    text = """\
nme: x
agents:
  - name: writer_a
    rol: writes
  - name: Writer A
  - name: b
    name: c
handoffs:
  - from_agent: writer_a
    to_agent: nobody
    priority: high
"""

    found = complaints(text)

    assert [(line, path) for line, path, _ in found] == [
        (1, "name"),
        (1, "nme"),
        (4, "agents.0.rol"),
        (5, "agents.1.slug"),
        (7, "agents.2.name"),
        (9, "handoffs.0.condition"),
        (10, "handoffs.0.to_agent"),
        (11, "handoffs.0.priority"),
    ]
    assert found[3][2] == "'writer-a' is already the slug of the agent on line 3"


def test_short_names_become_slugs_that_handoffs_may_use_as_written() -> None:
    text = """\
name: x
default_agent: writer_a
agents: [{name: writer_a, role: writes}, {name: Zoë Q.}]
handoffs: [{from_agent: writer_a, to_agent: Zoë Q., condition: done}]
"""

    file = parse(text).file

    assert [agent.slug for agent in file.agents] == ["writer-a", "zoe-q"]
    assert file.agents[0].name == "writer_a"
    assert file.default_agent == "writer-a"
    assert (file.handoffs[0].from_agent, file.handoffs[0].to_agent) == ("writer-a", "zoe-q")


def test_words_of_yaml_one_stay_words_and_numbers_keep_their_kind() -> None:
    text = "name: no\ncontext_variables: {a: on, b: 010, c: 1.5, d: true, e: '5', f: 2024-01-01, g: 1_000, h: 12:30}"

    file = parse(text).file

    assert file.name == "no"
    expected = {"a": "on", "b": 10, "c": 1.5, "d": True, "e": "5", "f": "2024-01-01", "g": "1_000", "h": "12:30"}
    assert file.context_variables == expected
    assert file.context_variables["d"] is True


def test_a_key_without_value_counts_as_left_out() -> None:
    file = parse("name: x\ndescription:\nafter_work_behavior: ~\nagents:\nhandoffs:\n").file

    assert not any(map(file.mentions, ("description", "after_work_behavior", "agents", "handoffs")))
    assert file.after_work_behavior is AfterWork.RETURN_TO_USER


def test_an_alias_bomb_is_refused_at_once(complaints: Complaints) -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    started = time.process_time()

    found = complaints("\n".join(layers))

    assert time.process_time() - started < 1
    assert (2, "a1.0", "is an alias (*); write it out, team files take no anchors") in found


@pytest.mark.parametrize("text", ["[" * 400_000, "a: {" * 200_000, "- " * 400_000, "? " * 400_000])
def test_deep_nesting_is_refused_at_once(complaints: Complaints, text: str) -> None:
    started = time.process_time()

    found = complaints(text)

    assert time.process_time() - started < 1
    assert len(found) == 1
    assert "nested deeper than 20" in found[0][2] or "single word" in found[0][2]


def test_an_oversized_text_is_refused_by_its_bytes(complaints: Complaints) -> None:
    assert complaints("name: x\ndescription: " + "é" * 499_990) == [
        (1, "file", "is 1000001 bytes long; at most 1000000 are taken")
    ]


def test_a_flood_of_problems_is_cut() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse("name: x\n" + "".join(f"k{n}: 1\n" for n in range(1_000)))

    assert len(caught.value.problems) == MOST_PROBLEMS_SHOWN
    assert "1000 problems in all" in caught.value.message
