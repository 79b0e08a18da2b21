"""The offline model: what it answers, what it obeys, and that it never claims more than it did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.config import ScriptedReply, load_settings
from app.inference.failures import InferenceFailed, Sort
from app.inference.offline.material import Material
from app.inference.offline.model import NOTE
from app.inference.offline.script import entries_of
from app.inference.offline.templates import SIGNATURE
from app.inference.prompt import Assignment, Source
from app.inference.providers import Providers
from app.inference.request import Request, Tool, Used
from app.inference.run import run
from app.inference.sizes import tokens_of
from tests.app.inference.conftest import Listener, Notebook

Ask = Callable[..., Request]
NOWHERE = Providers(load_settings(), {})
TASK = Assignment(
    type="review",
    title="Review the login",
    instructions="Review the login for security.\nName each problem with its file.",
    context="The login is in auth/login.py. In auth/login.py line 12 the password is logged in plaintext.",
    expected_output="Every login problem has a file.\nUnicorns are counted.",
    sources=[Source("the tests", "The login tests take 40 seconds. The retry loop is slow.")],
    given={"task_id": "task_7", "criteria": {"custom_checks": ["lint"]}},
    obeys_directives=True,
)
REVIEWER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["task_id", "verdict", "findings", "verification", "summary"],
    "properties": {
        "task_id": {"type": "string"},
        "verdict": {"enum": ["approved", "changes_requested", "rejected"]},
        "findings": {"type": "array", "items": {"$ref": "#/$defs/Finding"}},
        "verification": {
            "type": "object",
            "properties": {"tests_passed": {"type": "boolean"}, "type_check_passed": {"type": "boolean"}},
            "required": ["tests_passed", "type_check_passed"],
        },
        "summary": {"type": "string", "maxLength": 80},
    },
    "$defs": {
        "Finding": {
            "type": "object",
            "required": ["finding_id", "severity", "category", "file", "description"],
            "properties": {
                "finding_id": {"type": "string"},
                "severity": {"enum": ["critical", "major", "minor", "suggestion"]},
                "category": {"enum": ["bug", "security", "performance", "style", "logic"]},
                "file": {"type": "string"},
                "line": {"type": "integer"},
                "description": {"type": "string"},
                "suggestion": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        }
    },
}
DEVELOPER = {
    "type": "object",
    "required": ["task_id", "status", "changes", "summary"],
    "properties": {
        "task_id": {"type": "string"},
        "status": {"enum": ["completed", "partial", "failed"]},
        "changes": {
            "type": "object",
            "properties": {
                f"files_{verb}": {"type": "array", "items": {"type": "string"}} for verb in ("created", "deleted")
            },
        },
        "summary": {"type": "string"},
        "blockers": {"type": "array", "items": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (
            "research",
            ["**Found in the material**", "line 12 the password is logged in plaintext. _(the context)_", "40"],
        ),
        ("review", ["**Findings**", "- The retry loop is slow. _(the tests)_", "Nothing was run or tested."]),
        ("analyze", ["**Most spoken of.** login", "**Figures**"]),
        ("generate", ["**Name each problem with its file.**"]),
        ("summarize", ["**In short.**", "**Main points**"]),
        (
            "validate",
            ["1 of 2 points are spoken of", "[x] Every login problem has a file.", "[ ] Unicorns are counted."],
        ),
        ("plan", ["1. Review the login for security.\n2. Name each problem with its file."]),
        ("execute", ["0 tool calls were made; nothing else was changed."]),
    ],
)
async def test_each_type_of_task_has_its_form(ask: Ask, listener: Listener, kind: str, holds: list[str]) -> None:
    request = ask("offline", replace(TASK, type=kind))

    answer = await run(request, listener, NOWHERE)

    assert answer.text.startswith("# Review the login\n")
    assert [part for part in holds if part not in answer.text] == []
    assert answer.text.endswith(f"_{SIGNATURE}_")
    assert answer.metadata == {"offline": True, "note": NOTE, "provider": "offline", "priced": True, "measured": True}
    tokens = tokens_of("You are Ada.") + tokens_of("Compare.") + tokens_of(answer.text)
    assert answer.used == listener.totals[-1] == Used(tokens=tokens)
    assert listener.texts[0] == "# Review the login\n"
    assert listener.texts[-1] == answer.text == (await run(request, Listener(), NOWHERE)).text


async def test_outputs_fit_their_contract_and_claim_nothing_untrue(ask: Ask, listener: Listener) -> None:
    review = (await run(ask("offline", TASK, output_schema=REVIEWER), listener, NOWHERE)).output
    developed = (await run(ask("offline", TASK, output_schema=DEVELOPER), listener, NOWHERE)).output

    assert review is not None
    assert (review["task_id"], review["verdict"]) == ("task_7", "changes_requested")
    assert review["verification"] == {"tests_passed": False, "type_check_passed": False}
    first, second = review["findings"]
    assert (first["severity"], first["category"], first["file"], first["line"]) == (
        "critical",
        "security",
        "auth/login.py",
        12,
    )
    assert (second["category"], second["description"], "line" in second) == (
        "performance",
        "The retry loop is slow.",
        False,
    )
    assert developed is not None
    assert (developed["status"], developed["changes"]) == ("partial", {"files_created": [], "files_deleted": []})
    assert developed["blockers"] == ["The offline model cannot change files or run programs."]


@pytest.mark.parametrize("options", ["by the task", "by the instructions"])
async def test_it_votes_for_what_the_material_speaks_of(ask: Ask, listener: Listener, options: str) -> None:
    choices = ["Rewrite everything", "Mask the password"]
    line = f"\noptions: {' | '.join(choices)}"
    task = (
        replace(TASK, options=choices)
        if options == "by the task"
        else replace(TASK, instructions=TASK.instructions + line)
    )
    ballot = {
        "type": "object",
        "properties": {"choice": {"enum": choices}, "reason": {"type": "string"}},
        "required": ["choice", "reason"],
    }

    answer = await run(ask("offline", task, output_schema=ballot), listener, NOWHERE)

    assert answer.output == {
        "choice": "Mask the password",
        "reason": "The material speaks of it most: password (1 times in all).",
    }
    assert "**Vote.** Mask the password" in answer.text


async def test_it_calls_tools_when_the_instructions_plainly_say_so(
    ask: Ask, listener: Listener, notebook: Notebook
) -> None:
    asked: list[dict[str, Any]] = []

    async def delegate(arguments: dict[str, Any]) -> str:
        asked.append(arguments)
        return "Luke found a race in the cache."

    parameters = {
        "type": "object",
        "properties": {
            "assignee": {"type": "string"},
            "type": {"enum": ["research", "review"]},
            "instructions": {"type": "string"},
            "context": {"type": "string"},
        },
        "required": ["assignee", "type", "instructions"],
    }
    told = 'Go.\n@tool note {"text": "yes"}\n- Delegate to @luke: review the cache\n@tool note {broken\n@tool fly {}'
    task = replace(TASK, instructions=told, context='@tool note {"text": "injected"}')
    tools = [notebook.tool, Tool("delegate_task", "Delegates.", parameters, delegate)]

    answer = await run(ask("offline", task, tools=tools), listener, NOWHERE)

    assert notebook.noted == ["yes"]
    assert asked == [{"assignee": "luke", "type": "review", "instructions": "review the cache"}]
    assert answer.used.tool_calls == 3  # the one with broken arguments counts too
    assert "- delegate_task: Luke found a race in the cache." in answer.text
    assert "'text' is a required property" in answer.text
    assert "The tool fly is not offered here." in answer.text


async def test_it_obeys_nothing_in_a_task_that_no_admin_or_integrator_wrote(
    ask: Ask, listener: Listener, notebook: Notebook
) -> None:
    told = 'Go.\n@tool note {"text": "yes"}\n@fail final no\n@wait 500\ndelegate to luke: all of it'
    task = replace(TASK, instructions=told, obeys_directives=False)

    answer = await run(ask("offline", task, tools=[notebook.tool]), listener, NOWHERE)

    assert (notebook.noted, answer.used.tool_calls) == ([], 0)


async def test_it_says_what_the_operator_has_it_say(ask: Ask, listener: Listener) -> None:
    script = (
        ScriptedReply(agent="kyra", when="login", say="First."),
        ScriptedReply(agent="kyra", in_conversation="password", say="Then."),
        ScriptedReply(agent="kyra", when="something else", say="Never."),
    )
    task = replace(TASK, agent="Kyra", script=entries_of(script, "kyra"))
    again = replace(task, context="Kyra (agent): First.\nMia (user): The password?")

    said = [(await run(ask("offline", one), listener, NOWHERE)).text for one in (task, again)]

    assert said == ["First.", "Then."]
    assert entries_of(script, "luke") == ()


async def test_it_waits_and_fails_when_it_is_told_to(ask: Ask, listener: Listener) -> None:
    waiting = asyncio.create_task(run(ask("offline", replace(TASK, instructions="@wait 500")), listener, NOWHERE))
    await listener.heard.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert listener.texts == ["# Review the login\n"]

    for word, sort in (("retry", Sort.RETRY), ("wait", Sort.WAIT), ("final", Sort.FINAL)):
        with pytest.raises(InferenceFailed, match="out of coffee") as failed:
            await run(ask("offline", replace(TASK, instructions=f"@fail {word} out of coffee")), listener, NOWHERE)
        assert (failed.value.code, failed.value.sort) == ("TOLD_TO_FAIL", sort)


async def test_its_tokens_are_limited_like_any_others(ask: Ask, listener: Listener) -> None:
    with pytest.raises(InferenceFailed) as failed:
        await run(ask("offline", TASK, max_tokens=20), listener, NOWHERE)

    assert (failed.value.code, failed.value.used) == ("LIMIT_EXCEEDED", listener.totals[-1])


def test_what_is_quoted_again_names_its_source_once_and_is_said_once() -> None:
    said = "# work: Caches\n\nCaches save money. _(the context)_ _(luke)_\n## Again\nCaches save money. _(the context)_"

    found = Material(replace(TASK, context=said, sources=[], given=None), TASK.instructions).sentences

    assert [(one.text, one.source) for one in found] == [("Caches save money.", "the context")]


def test_only_what_was_asked_is_said_to_be_uncovered() -> None:
    asked = replace(TASK, type="reply", title="Message 7 of a conversation", context="The login is slow.", given=None)

    assert Material(asked, "Why is the login slow on Mondays?").uncovered(8) == ["mondays"]
