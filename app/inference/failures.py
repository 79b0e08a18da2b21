"""Sorts what went wrong between us and a model: try again, wait first, or give up.

Messages say what to do. They hold what the provider said only where it cannot hold a secret, and shortened.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from pydantic_ai import exceptions as errors

from app.inference.request import Used

MAX_WAIT_S = 3600.0  # a provider that asks for more is asked again after this
_LONGEST_REASON = 300
_SECRETS = re.compile(r"\bsk-\S+|\bBearer\s+\S+|[\w*+/=-]{20,}", re.IGNORECASE)  # what is long enough to be a key


class Sort(StrEnum):
    RETRY = "retry"
    WAIT = "wait"
    FINAL = "final"


class InferenceFailed(Exception):
    """A run that has no answer, with all that it used. `retry_after_s` is what the provider asked for, if it did."""

    def __init__(
        self, code: str, message: str, sort: Sort, *, retry_after_s: float | None = None, used: Used | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.sort = sort
        self.retry_after_s = retry_after_s
        self.used = used or Used()


def over_limit(what: str, used: Used) -> InferenceFailed:
    return InferenceFailed(
        "LIMIT_EXCEEDED", f"The run reached its limit: {what}. Replay it with a higher one.", Sort.FINAL, used=used
    )


class _Rule(NamedTuple):
    error: type[Exception]
    code: str
    sort: Sort
    message: str
    quote: bool = False  # whether what the provider said is added


# The first rule that fits counts: the special ones stand before those that they are a kind of.
_RULES = (
    _Rule(errors.ModelQuotaExceededError, "QUOTA_EXHAUSTED", Sort.FINAL,
          "{model}: the account has no credit left. Top it up with the provider, or name another model."),
    _Rule(errors.ModelRateLimitError, "RATE_LIMITED", Sort.WAIT, "{model}: the provider asks to wait."),
    _Rule(errors.ModelAuthenticationError, "MODEL_KEY_REFUSED", Sort.FINAL,
          "{model}: the provider refused the key. Set {key} to one that may use this model."),
    _Rule(errors.ModelNotFoundError, "MODEL_NOT_FOUND", Sort.FINAL,
          "{model}: the provider does not have it. Check its name and {url}.", quote=True),
    _Rule(errors.ModelContextWindowExceededError, "CONTEXT_TOO_LONG", Sort.FINAL,
          "{model}: the task is longer than the model can read. Shorten its context, or name another model."),
    _Rule(errors.ModelRequestRejectedError, "REQUEST_REJECTED", Sort.FINAL,
          "{model}: the provider rejected the request.", quote=True),
    _Rule(errors.ModelRequestTimeout, "MODEL_TIMEOUT", Sort.RETRY,
          "{model}: no whole answer within PARLEY_MODEL_REQUEST_TIMEOUT_S."),
    _Rule(errors.ModelConnectionError, "MODEL_UNREACHABLE", Sort.RETRY,
          "{model}: the connection could not be made or broke off. Check {url} if this stays."),
    _Rule(errors.ModelUnavailableError, "MODEL_UNAVAILABLE", Sort.RETRY, "{model}: the provider is overloaded."),
    _Rule(errors.ModelServerError, "MODEL_FAILED", Sort.RETRY, "{model}: the provider failed.", quote=True),
    _Rule(errors.ContentFilterError, "CONTENT_FILTERED", Sort.FINAL,
          "{model}: the provider's content filter stopped the answer. Change what the task asks for."),
    _Rule(errors.IncompleteToolCall, "LIMIT_EXCEEDED", Sort.FINAL,
          "{model}: the answer was cut off inside a tool call. Give the task more tokens."),
    _Rule(errors.UsageLimitExceeded, "LIMIT_EXCEEDED", Sort.FINAL,
          "{model}: the model kept asking without coming to an end."),
    _Rule(errors.UnexpectedModelBehavior, "MODEL_MISBEHAVED", Sort.RETRY,
          "{model}: what it answered could not be used, also after it was told why.", quote=True),
    _Rule(errors.ModelAPIError, "MALFORMED_RESPONSE", Sort.RETRY, "{model}: the provider's answer could not be read."),
)  # fmt: skip
# Statuses that pydantic-ai gives no category. Others of 400 to 499 are the request's fault, so sending it again is
# of no use.
_PASSING_STATUSES = frozenset({408, 409, 425})


def failure(error: errors.AgentRunError, *, model: str, key: str, url: str, used: Used) -> InferenceFailed:
    """The failure that `error` means; `key` and `url` name the variables that the provider reads."""
    rule = _rule(error)
    message = rule.message.format(model=model, key=key, url=url)
    if rule.quote and (said := _said(error)):
        message = f"{message} It said: {said}"
    wait = getattr(error, "retry_after", None)
    return InferenceFailed(
        rule.code,
        message,
        rule.sort,
        retry_after_s=None if wait is None else min(max(wait, 0.0), MAX_WAIT_S),
        used=used,
    )


def _rule(error: errors.AgentRunError) -> _Rule:
    found = next((rule for rule in _RULES if isinstance(error, rule.error)), _RULES[-1])
    if isinstance(error, errors.ModelHTTPError) and found is _RULES[-1]:
        sort = Sort.RETRY if error.status_code in _PASSING_STATUSES or error.status_code >= 500 else Sort.FINAL
        return _Rule(type(error), "REQUEST_REJECTED" if sort is Sort.FINAL else "MODEL_FAILED", sort,
                     f"{{model}}: the provider answered {error.status_code}.", quote=True)  # fmt: skip
    return found


def _said(error: errors.AgentRunError) -> str:
    """The provider's own words, without anything that looks like a key."""
    said: object = error.message
    if isinstance(error, errors.ModelAPIError):
        said = error.body
        if isinstance(said, dict):
            said = said.get("message") or said.get("error")
            said = said.get("message") if isinstance(said, dict) else said
    if not isinstance(said, str):
        return ""
    said = _SECRETS.sub("…", " ".join(said.split()))
    return said if len(said) <= _LONGEST_REASON else said[: _LONGEST_REASON - 1] + "…"
