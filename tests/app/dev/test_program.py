"""A program that ends by itself is started again, each time after a longer pause."""

import time

import pytest

from app.dev import program
from app.dev.program import Program


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(program, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(program, "LONGEST_PAUSE_S", 0.2)
    return Program("worker", ["no-such-command"], {}, grace_s=1)


def revived(failing: Program) -> str:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if said := failing.revive():
            return said
        time.sleep(0.005)
    raise AssertionError("nothing was said")


def test_pauses_grow_up_to_a_limit(failing: Program) -> None:
    failing.start()

    said = [revived(failing) for _ in range(4)]

    assert said == [
        f"The worker ended with code 2; it is started again in {pause} s." for pause in ("0.05", "0.1", "0.2", "0.2")
    ]


def test_running_program_is_left_alone(failing: Program) -> None:
    failing.start()

    assert failing.revive() is None

    failing.kill()
