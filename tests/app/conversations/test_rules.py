"""The pure rules of conversations: what comes next, one answer of several replies, and what an agent is given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.conversations.aggregator import MOST_PASSAGES, Voice, best, merged, passages, weighed
from app.conversations.context import MOST_ASKED, MOST_OF_ONE, MOST_RECENT, Identity, Turn, assemble, wording
from app.conversations.models import ContributionStatus as Status
from app.conversations.models import ContributionUse as Use
from app.conversations.spec import parse_content
from app.conversations.turns import Step, next_step
from app.embeddings.static import StaticEmbedder
from app.errors import InvalidInput
from app.routing.select import Strategy

KYRA = Identity("Kyra", "assistant", "Writers")


@pytest.mark.parametrize(
    ("strategy", "chosen", "step"),
    [
        (Strategy.TOP_1, [Status.WAITING], Step.ASK_NEXT),
        (Strategy.TOP_1, [Status.COMPLETED], Step.ANSWER),
        (Strategy.TOP_1, [Status.CANCELLED], Step.GIVE_UP),
        (Strategy.TOP_1, [], Step.GIVE_UP),
        (Strategy.TOP_K, [Status.WAITING, Status.WAITING], Step.ASK_ALL),
        (Strategy.TOP_K, [Status.COMPLETED, Status.RUNNING], Step.WAIT),
        (Strategy.ENSEMBLE, [Status.FAILED, Status.COMPLETED], Step.ANSWER),
        (Strategy.ENSEMBLE, [Status.FAILED, Status.TIMED_OUT], Step.GIVE_UP),
        (Strategy.CASCADE, [Status.RUNNING, Status.WAITING], Step.WAIT),
        (Strategy.CASCADE, [Status.TIMED_OUT, Status.WAITING], Step.ASK_NEXT),
        (Strategy.CASCADE, [Status.FAILED, Status.COMPLETED, Status.WAITING], Step.ANSWER),
    ],
)
def test_the_next_step_follows_the_strategy(strategy: Strategy, chosen: list[Status], step: Step) -> None:
    assert next_step(strategy, chosen) is step


def voice(name: str, text: str, skill: str = "Code review") -> Voice:
    return Voice(name, skill, text, StaticEmbedder().embed_now(weighed(text)))


def test_several_replies_become_one_that_names_its_authors() -> None:
    (question,) = StaticEmbedder().embed_now(["How do I make this parser fast and safe?"])
    fast = voice("Luke", "Cache what the parser makes of each file, then it is fast.")
    safe = voice("Ada", "Limit the depth of the parser, or a hostile file ends it.", "")
    again = voice("Zara", "Cache what the parser makes of each file; then it is fast!")

    together = merged(question, [fast, safe, again])
    alone = merged(question, [fast, again])
    top = best(question, [voice("Max", "The weather is fine."), fast])

    assert "According to Ada: Limit the depth" in together.text
    assert together.text.count("Cache what") == 1
    assert sorted(together.uses) == [Use.DUPLICATE, Use.MERGED, Use.MERGED]
    assert together.uses[1] is Use.MERGED
    assert (alone.text, sorted(alone.uses)) == ([fast, again][alone.lead].text, [Use.ANSWER, Use.DUPLICATE])
    assert (top.text, top.lead, top.uses) == (fast.text, 1, (Use.UNUSED, Use.ANSWER))
    assert merged(question, [fast, safe]).text.startswith(
        ("According to Luke (Code review): Cache", "According to Ada")
    )


def test_of_very_many_passages_few_are_compared_by_meaning_and_none_is_lost() -> None:
    """Short paragraphs by the thousand were compared each with each."""
    (question,) = StaticEmbedder().embed_now(["What?"])
    many = "\n\n".join(f"{number:x}{chr(97 + number % 26)}" for number in range(3_000))
    other = many + "\n\nLet the sourdough rest overnight."

    together = merged(question, [voice("Luke", many), voice("Ada", other), voice("Zara", many)])

    assert len(weighed(many)) == 1 + MOST_PASSAGES
    assert len(weighed("x" * 100_000)[0]) < 100_000
    assert "According to Ada (Code review): Let the sourdough rest overnight." in together.text
    assert together.uses == (Use.MERGED, Use.MERGED, Use.DUPLICATE)
    assert passages(together.text)[-2] == passages(many)[-1]
    assert merged(question, [voice("Luke", "Tea.\n\ntea.\n\nTEA."), voice("Ada", "Tea.")]).text == "Tea."


def turn(number: int, text: str, artifacts: Sequence[str] = ()) -> Turn:
    return Turn(f"message_{number}", number, "user", "Mia", text, len(text), artifacts)


def test_what_an_agent_is_given_is_bounded_however_much_was_said() -> None:
    short = assemble(KYRA, turn(3, "Why?"), [turn(1, "One."), turn(2, "Two.")], variables={"budget": 7})
    turns = [turn(number, f"Message {number}. " + "word " * 300) for number in range(900, 1_000)]
    long = assemble(KYRA, turn(1_000, "Why?"), [*turns, turn(999, "x" * 50_000)], earlier=899, memories=["Likes tea."])

    assert wording(short) == "Mia (user): One.\n\nMia (user): Two.\n\nWhat is known:\n- budget: 7"
    assert short.condensed == ()
    assert long.memories == ("Likes tea.",)
    assert long.history[-1].text.endswith("… (50,000 characters in all: message_999)")
    assert len(long.history[-1].text) < MOST_OF_ONE + 100
    assert sum(len(one.text) for one in long.history) <= MOST_RECENT
    assert long.condensed[0].endswith("messages before that are left out.")
    assert long.condensed[-1].startswith("Mia: Message 99")
    assert len(wording(long)) < 22_000
    assert [one.number for one in long.history] == sorted(one.number for one in long.history)


def test_references_and_the_question_are_bounded_too() -> None:
    references = [f"https://example.org/{number}/" + "a" * 1_900 for number in range(50)]
    given = assemble(KYRA, turn(9, "?" * 200_000), [turn(number, "See these.", references) for number in range(1, 9)])
    few = assemble(KYRA, turn(2, "Why?"), [turn(1, "See this.", references[:2])])

    assert len(wording(given)) < MOST_RECENT + 1_000
    assert [len(one.artifacts) for one in given.history] == [2] * len(given.history)
    assert wording(given).endswith("\n(with 48 more references: message_8)")
    assert given.question.text.endswith("?… (200,000 characters in all: message_9)")
    assert len(given.question.text) < MOST_ASKED + 100
    assert "more references" not in wording(few)


@pytest.mark.parametrize(
    "reference", ["artifact:x\n", "artifact:a b", "ftp://x", "artifact:", "https://" + "x" * 2_000]
)
def test_what_is_no_reference_is_refused(reference: str) -> None:
    with pytest.raises(InvalidInput, match=r"artifacts\.0: must be a reference"):
        parse_content("See this.", [], [reference])
