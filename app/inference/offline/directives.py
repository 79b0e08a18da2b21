"""Lines of a task's instructions that the offline model obeys to the letter, for demos and tests. Pure.

Only the instructions of a task are read for them that an admin or an integrator delegated, where the operator turned
them on: nothing in a message, a consultation, a context, an artifact or an agent's output can start a tool.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MOST_SECONDS = 600.0
_LINE = re.compile(
    r"^\s*(?:[-*]\s+)?(?:"
    r"@wait\s+(?P<wait>\d+(?:\.\d+)?)"
    r"|@fail\s+(?P<sort>retry|wait|final)\b\s*(?P<why>.*)"
    r"|@tool\s+(?P<tool>[\w.-]+)\s*(?P<arguments>\{.*)?"
    r"|delegate\s+to\s+@?(?P<agent>[\w-]+)\s*:\s*(?P<work>.+)"
    r"|options\s*:\s*(?P<options>.+)"
    r")\s*$",
    re.IGNORECASE,
)


_ALMOST = re.compile(r"\s*(?:[-*]\s+)?@(?:wait|fail|tool)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to call. `hints` are values by meaning, to be put where the tool's parameters have a place for them."""

    tool: str
    arguments: dict[str, Any] | None = None
    hints: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Directives:
    """`text` is what the instructions say without them."""

    text: str
    wait_s: float = 0.0
    fail: tuple[str, str] | None = None
    calls: tuple[Call, ...] = ()
    options: tuple[str, ...] = ()


def read(instructions: str) -> Directives:
    kept: list[str] = []
    calls: list[Call] = []
    wait_s, fail = 0.0, None
    options: tuple[str, ...] = ()
    for line in instructions.splitlines():
        found = _LINE.match(line)
        if found is None and _ALMOST.match(line):
            fail = ("final", f"This line is no directive that the offline model knows: {line.strip()[:200]}")
        elif found is None:
            kept.append(line)
        elif found["wait"]:
            wait_s = min(wait_s + float(found["wait"]), MOST_SECONDS)
        elif found["sort"]:
            fail = (found["sort"].lower(), found["why"] or "It was told to fail.")
        elif found["tool"]:
            calls.append(Call(found["tool"], arguments=_object(found["arguments"])))
        elif found["agent"]:
            calls.append(Call("delegate_task", hints={"agent": found["agent"], "work": found["work"]}))
        else:
            options = tuple(option.strip() for option in found["options"].split("|") if option.strip())
    return Directives("\n".join(kept).strip(), wait_s, fail, tuple(calls), options)


def _object(text: str | None) -> dict[str, Any]:
    """What is not a JSON object is passed on as it is, so that the tool's own check refuses it."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"unreadable": text}
    return value if isinstance(value, dict) else {"unreadable": text}
