"""Who asks the same agent for the same a third time in one tree is refused, exactly, and whatever happened between."""

from __future__ import annotations

import asyncio

import pytest

from app.errors import AppError
from app.tasks.errors import OscillationDetected
from app.tasks.models import Task
from app.tasks.oscillation import check_repeats, fingerprint, normalised
from tests.fixtures.desk import Desk


def test_case_space_and_ways_of_writing_make_no_difference() -> None:
    assert normalised("  Prüfe\tDAS\n\nﬁle ") == normalised("prüfe das file")
    assert normalised("a b") != normalised("ab")


def test_what_is_given_tells_tasks_apart() -> None:
    def of(instructions: str = "Do it.", **more: object) -> bytes:
        given = {"context": "", "artifacts": (), "contract_input": None} | more
        return fingerprint(instructions=instructions, **given)  # type: ignore[arg-type]

    same = [of(), of(" do  IT.\n"), of(context="\n")]
    others = [
        of("Do that."),
        of(context="c"),
        of(artifacts=["file:a"]),
        of(contract_input={"a": 1}),
        of(contract_input={}),
    ]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 6
    assert of(contract_input={"a": 1, "b": 2}, artifacts=["x", "y"]) == of(
        contract_input={"b": 2, "a": 1}, artifacts=["y", "x"]
    )


def test_the_third_time_is_once_too_often() -> None:
    check_repeats(0, ["kyra", "luke"])
    check_repeats(1, ["kyra", "luke"])
    with pytest.raises(OscillationDetected, match="kyra → luke: kyra has asked luke for the same 2 times") as refused:
        check_repeats(2, ["kyra", "luke"])

    assert refused.value.details == {"chain": ["kyra", "luke"], "limit": 2}


async def test_counts_survive_retry_and_hold_for_the_same_alone(desk: Desk) -> None:
    top = await desk.working("kyra", "luke")
    first = await desk.working(None, "ada", parent=top, instructions="Look it up.")
    await desk.complete(first)
    await desk.complete(await desk.working(None, "ada", parent=top, instructions=" LOOK it  up."))
    await desk.delegate(None, "otto", parent=top, instructions="Look it up.")
    await desk.fail(top)  # cancels what otto was asked, so that it may be asked as often as before
    await desk.make_ready()
    again = await desk.claim("luke")
    assert again is not None
    before = await desk.count(), await desk.reserved()

    with pytest.raises(OscillationDetected, match="kyra → luke → ada"):
        await desk.delegate(None, "ada", parent=again, instructions="Look it up.")

    assert (await desk.count(), await desk.reserved()) == before
    await desk.delegate(None, "ada", parent=again, instructions="Look it up.", context="In the other book.")
    for _ in range(2):
        await desk.delegate(None, "otto", parent=again, instructions="Look it up.")
    other = await desk.working("kyra", "mia")
    await desk.delegate(None, "ada", parent=other, instructions="Look it up.")


async def test_of_many_at_once_from_two_places_of_a_tree_exactly_two_are_made(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="5")
    await desk.agent("otto")
    places = [await desk.working(None, "ada", parent=top, title=f"{n}", context=f"{n}") for n in range(2)]

    outcomes = await asyncio.gather(
        *(desk.delegate(None, "otto", parent=places[n % 2], budget_usd="0.01") for n in range(20)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, Task) for outcome in outcomes) == 2
    assert {outcome.code for outcome in outcomes if isinstance(outcome, AppError)} == {"OSCILLATION_DETECTED"}
