"""Runs over HTTP, against a server that this test scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import ROUND_UP, Decimal
from email.utils import formatdate
from time import time
from traceback import format_exception
from typing import Any

import pytest
from genai_prices import Usage, calc_price

from app.config import load_settings
from app.inference import pricing
from app.inference.failures import InferenceFailed, Sort
from app.inference.providers import Providers
from app.inference.request import Request, Tool, Used
from app.inference.run import run
from tests.app.inference.conftest import KEY, Listener, Notebook, Script, environment
from tests.fixtures.logs import logged
from tests.fixtures.openai_server import OpenAIServer, Reply, breaks_off, calls, fails, hangs, raw, says

pytestmark = pytest.mark.asyncio(loop_scope="module")
Ask = Callable[..., Request]
PRICE = calc_price(Usage(input_tokens=10, output_tokens=5), "gpt-4o-mini", provider_id="openai").total_price
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["good", "bad"]}, "count": {"type": "integer", "minimum": 1}},
    "required": ["verdict", "count"],
}


async def test_the_answer_is_streamed_counted_and_priced(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    scripted(says("Valkey ", "is ", "fast."))
    answer = await run(ask(), listener, providers)

    used = Used(tokens=15, cost=PRICE.quantize(pricing.SMALLEST, ROUND_UP), tool_calls=0)
    assert (answer.text, answer.output, answer.used, answer.model) == (
        "Valkey is fast.",
        None,
        used,
        "openai:gpt-4o-mini",
    )
    assert answer.metadata == {"provider": "openai", "priced": True, "measured": True}
    assert listener.texts == ["Valkey ", "Valkey is ", "Valkey is fast."]
    assert listener.totals == [used]
    asked = server.asked[0]
    assert [(message["role"], message["content"]) for message in asked["messages"]] == [
        ("system", "You are Ada."),
        ("user", "Compare."),
    ]
    assert asked["stream_options"] == {"include_usage": True}
    assert (asked["stream"], asked["max_completion_tokens"], server.keys) == (True, 4_000, [f"Bearer {KEY}"])


async def test_tools_are_called_one_at_a_time_in_the_order_asked_for(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    order: list[str] = []

    async def slow(arguments: dict[str, Any]) -> str:
        order.append(f"begin {arguments['n']}")
        await asyncio.sleep(0)
        order.append(f"end {arguments['n']}")
        return "done"

    step = Tool("step", "A step.", {"type": "object", "properties": {"n": {"type": "integer"}}}, slow)
    wanted = [("step", json.dumps({"n": n})) for n in (3, 1, 2)]
    scripted(calls(*wanted), says("Done."))
    answer = await run(ask(tools=[step]), listener, providers)

    assert order == ["begin 3", "end 3", "begin 1", "end 1", "begin 2", "end 2"]
    assert (answer.text, answer.used.tool_calls, answer.used.tokens) == ("Done.", 3, 30)
    assert [total.tool_calls for total in listener.totals] == [0, 1, 2, 3, 3]
    assert server.told == [("call_0", "done"), ("call_1", "done"), ("call_2", "done")]


async def test_a_model_is_told_what_was_wrong_with_its_calls(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener, notebook: Notebook
) -> None:
    first = calls(("note", '{"text": "no"}'), ("nothing", "{}"), ("note", '{"words": 1}'), ("note", "{not json"))
    scripted(first, calls(("note", '{"text": "yes"}')), says("Noted."))
    answer = await run(ask(tools=[notebook.tool]), listener, providers)

    assert (answer.text, notebook.noted, answer.used.tool_calls) == ("Noted.", ["no", "yes"], 3)
    refused, unknown, misfit, malformed = (text for _, text in server.told[:4])
    assert "This may not be noted." in refused
    assert "nothing" in unknown
    assert "'text' is a required property" in misfit
    assert "JSON" in malformed


@pytest.mark.parametrize("call", [("note", "{not json"), ("note", '{"words": 1}'), ("nothing", "{}")])
async def test_a_model_that_cannot_call_a_tool_is_given_up(
    server: OpenAIServer,
    providers: Providers,
    scripted: Script,
    ask: Ask,
    listener: Listener,
    notebook: Notebook,
    call: tuple[str, str],
) -> None:
    scripted(calls(call))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(tools=[notebook.tool]), listener, providers)

    assert (failed.value.code, failed.value.sort, notebook.noted) == ("MODEL_MISBEHAVED", Sort.RETRY, [])
    assert failed.value.used.tokens == 15 * len(server.asked)
    assert len(server.asked) == 3


async def test_an_error_of_a_tool_or_the_listener_reaches_the_caller_as_it_is(
    providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    async def lost(_: object) -> str:
        raise KeyError("claim lost")

    tool = Tool("lose", "Loses the claim.", {"type": "object"}, lost)
    scripted(calls(("lose", "{}")), says("Fine."))
    with pytest.raises(KeyError, match="claim lost"):
        await run(ask(tools=[tool]), listener, providers)
    listener.text = lost  # type: ignore[assignment, method-assign]
    with pytest.raises(KeyError, match="claim lost"):
        await run(ask(), listener, providers)


@pytest.mark.parametrize(
    ("limit", "requests", "used_calls"),
    [
        ({"max_tool_calls": 2}, 2, 2),  # the third call of the second response
        ({"max_tokens": 20}, 2, 2),  # 15 tokens each: over with the second response
        ({"max_tokens": 30}, 2, 4),  # nothing left before the third
        ({"max_cost_usd": PRICE * Decimal("1.5")}, 2, 2),
        ({"max_cost_usd": Decimal(0)}, 0, 0),
    ],
)
async def test_limits_end_the_run_while_it_is_under_way(
    server: OpenAIServer,
    providers: Providers,
    scripted: Script,
    ask: Ask,
    listener: Listener,
    notebook: Notebook,
    limit: dict[str, Any],
    requests: int,
    used_calls: int,
) -> None:
    again = ("note", '{"text": "yes"}')
    scripted(calls(again, again))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(tools=[notebook.tool], **limit), listener, providers)

    assert (failed.value.code, failed.value.sort) == ("LIMIT_EXCEEDED", Sort.FINAL)
    assert (len(server.asked), len(notebook.noted)) == (requests, used_calls)
    assert failed.value.used == (listener.totals[-1] if listener.totals else Used())
    assert (failed.value.used.tokens, failed.value.used.tool_calls) == (15 * requests, used_calls)


ERRORS: dict[str, tuple[Reply, str, Sort, float | None]] = {
    "rate limit, seconds": (fails(429, {"retry-after": "7"}), "RATE_LIMITED", Sort.WAIT, 7.0),
    "rate limit, for days": (fails(429, {"retry-after": "999999"}), "RATE_LIMITED", Sort.WAIT, 3600.0),
    "rate limit, silent": (fails(429), "RATE_LIMITED", Sort.WAIT, None),
    "no credit": (fails(429, code="insufficient_quota"), "QUOTA_EXHAUSTED", Sort.FINAL, None),
    "server error": (fails(500), "MODEL_FAILED", Sort.RETRY, None),
    "unavailable": (fails(503, {"retry-after": "3"}), "MODEL_UNAVAILABLE", Sort.RETRY, 3.0),
    "request timeout": (fails(408), "MODEL_FAILED", Sort.RETRY, None),
    "conflict": (fails(409), "MODEL_FAILED", Sort.RETRY, None),
    "gone": (fails(410), "REQUEST_REJECTED", Sort.FINAL, None),
    "bad request": (fails(400, message=f"cannot read {KEY}"), "REQUEST_REJECTED", Sort.FINAL, None),
    "unprocessable": (fails(422), "REQUEST_REJECTED", Sort.FINAL, None),
    "too long": (fails(400, code="context_length_exceeded"), "CONTEXT_TOO_LONG", Sort.FINAL, None),
    "wrong key": (fails(401, message=f"Incorrect API key provided: {KEY}"), "MODEL_KEY_REFUSED", Sort.FINAL, None),
    "forbidden": (fails(403), "MODEL_KEY_REFUSED", Sort.FINAL, None),
    "no such model": (fails(404, code="model_not_found"), "MODEL_NOT_FOUND", Sort.FINAL, None),
    "not json": (raw(b"data: <html>\n\n", headers={"content-type": "text/event-stream"}),
                 "MALFORMED_RESPONSE", Sort.RETRY, None),
    "cut off": (breaks_off("half "), "MODEL_UNREACHABLE", Sort.RETRY, None),
    "says nothing": (says(), "MODEL_MISBEHAVED", Sort.RETRY, None),
    "filtered": (says(finish="content_filter"), "CONTENT_FILTERED", Sort.FINAL, None),
    "filtered midway": (says("half ", finish="content_filter"), "CONTENT_FILTERED", Sort.FINAL, None),
    "out of tokens": (says("half ", finish="length"), "LIMIT_EXCEEDED", Sort.FINAL, None),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
async def test_errors_are_sorted(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener, name: str
) -> None:
    reply, code, sort, wait = ERRORS[name]
    scripted(reply)
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(), listener, providers)

    assert (failed.value.code, failed.value.sort, failed.value.retry_after_s) == (code, sort, wait)
    assert KEY not in "".join(format_exception(failed.value))
    if code == "MODEL_KEY_REFUSED":
        assert "OPENAI_API_KEY" in failed.value.message


async def test_a_rate_limit_may_name_a_date(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    scripted(fails(429, {"retry-after": formatdate(time() + 1800, usegmt=True)}))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(), listener, providers)

    assert failed.value.retry_after_s is not None
    assert 0 < failed.value.retry_after_s <= 1800


async def test_nobody_at_the_address_may_pass(ask: Ask, listener: Listener, scripted: Script) -> None:
    nobody = Providers(load_settings(), environment("http://127.0.0.1:1/v1"))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(), listener, nobody)
    await nobody.close()

    assert (failed.value.code, failed.value.sort) == ("MODEL_UNREACHABLE", Sort.RETRY)


@pytest.mark.parametrize("pieces", [(), ("Valkey ",)])
async def test_a_server_that_hangs_is_given_up(
    server: OpenAIServer, scripted: Script, ask: Ask, listener: Listener, pieces: tuple[str, ...]
) -> None:
    impatient = Providers(load_settings(model_request_timeout_s=0.2), environment(server.url))
    scripted(hangs(*pieces))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(), listener, impatient)
    await server.gone.wait()
    await impatient.close()

    assert (failed.value.code, failed.value.sort) == ("MODEL_TIMEOUT", Sort.RETRY)
    assert listener.texts == list(pieces)


async def test_cancelling_ends_the_request_at_once(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    scripted(hangs("Valkey "))
    running = asyncio.create_task(run(ask(), listener, providers))
    await listener.heard.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await server.gone.wait()


async def test_the_callers_time_limit_ends_it_too(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            listener.on_text = lambda: limit.reschedule(0)
            await run(ask(), listener, providers)

    scripted(hangs("Valkey "))
    with pytest.raises(TimeoutError):
        await limited()
    await server.gone.wait()


async def test_an_output_that_does_not_fit_is_repaired_once(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    wrong, right = ('{"verdict": "fine", "count": 0}', '{"verdict": "good", "count": 2}')
    scripted(calls(("final_result", wrong)), calls(("final_result", right)))
    answer = await run(ask(output_schema=SCHEMA), listener, providers)
    assert answer.output == {"verdict": "good", "count": 2}
    assert json.loads(answer.text) == answer.output
    assert "verdict: 'fine' is not one of ['good', 'bad']" in server.told[0][1]

    scripted(calls(("final_result", wrong)))
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(output_schema=SCHEMA), listener, providers)
    assert (failed.value.code, failed.value.sort, len(server.asked)) == ("CONTRACT_VIOLATED", Sort.FINAL, 2)
    assert "count: 0 is less than the minimum of 1; verdict: 'fine' is not one of" in failed.value.message

    strict = ask(output_schema=SCHEMA, output_check=lambda output: ["count: is odd"] if output["count"] % 2 else [])
    scripted(calls(("final_result", '{"verdict": "good", "count": 3}')), calls(("final_result", right)))
    assert (await run(strict, listener, providers)).output == {"verdict": "good", "count": 2}
    assert "count: is odd" in server.told[0][1]

    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"$ref": "#/$defs/n"}}}
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(output_schema=loop), listener, providers)
    assert (failed.value.code, failed.value.sort) == ("OUTPUT_SCHEMA_UNSUPPORTED", Sort.FINAL)


async def test_unknown_prices_and_counts_are_said(
    server: OpenAIServer, providers: Providers, scripted: Script, ask: Ask, listener: Listener
) -> None:
    pricing._warn.cache_clear()
    with logged() as lines:
        scripted(raw(_whole("house-model"), headers={"content-type": "text/event-stream"}))
        for _ in range(2):
            answer = await run(ask("openai:house-model"), listener, providers)
        local = await run(ask("ollama:house-model"), listener, providers)

    assert (answer.used.cost, answer.metadata["priced"], answer.metadata["measured"]) == (0, False, False)
    assert answer.used.tokens == 7  # "You are Ada.", "Compare." and "Fine.", each four characters or a part of them
    assert [line["event"] for line in lines] == ["model has no known price and counts as free"]
    assert local.metadata["priced"] is True


def _whole(model: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


@pytest.mark.parametrize(
    ("model", "code", "says_what"),
    [
        ("openai:gpt-4o-mini", "MODEL_KEY_MISSING", "OPENAI_API_KEY"),
        ("anthropic:claude-haiku", "MODEL_KEY_MISSING", "ANTHROPIC_API_KEY"),
        ("openai:", "MODEL_UNKNOWN", "openai:<model>"),
        ("nobody:model", "MODEL_UNKNOWN", "ollama:<model>"),
    ],
)
async def test_a_model_that_is_not_set_up_says_what_to_do(
    ask: Ask, listener: Listener, model: str, code: str, says_what: str
) -> None:
    bare = Providers(load_settings(), {})
    with pytest.raises(InferenceFailed) as failed:
        await run(ask(model), listener, bare)

    assert (failed.value.code, failed.value.sort) == (code, Sort.FINAL)
    assert says_what in failed.value.message


@pytest.mark.slow  # its library alone takes seconds to load
async def test_anthropic_is_reached_and_sorted_alike(
    server: OpenAIServer, scripted: Script, ask: Ask, listener: Listener
) -> None:
    there = Providers(load_settings(), {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url.removesuffix("/v1")})
    scripted(fails(401, type="authentication_error"), fails(429, {"retry-after": "2"}, type="rate_limit_error"))
    failures = []
    for _ in range(2):
        with pytest.raises(InferenceFailed) as failed:
            await run(ask("anthropic:claude-of-the-house"), listener, there)
        failures.append((failed.value.code, failed.value.sort, failed.value.retry_after_s))
    await there.close()

    assert failures == [("MODEL_KEY_REFUSED", Sort.FINAL, None), ("RATE_LIMITED", Sort.WAIT, 2.0)]
    assert (server.paths[0], server.asked[0]["model"]) == ("/v1/messages", "claude-of-the-house")
    assert (server.asked[0]["max_tokens"], server.asked[0]["stream"]) == (4_000, True)
