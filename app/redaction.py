"""Takes secrets out of texts and documents before anything keeps them: keys, tokens, passwords, connection strings,
private keys and, where that is wanted, e-mail addresses. Pure; what was taken out once is left alone the next time.

It rather takes out too much than too little. It knows shapes, not meanings: a secret that looks like a word and is not
called one cannot be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any


class Redaction(StrEnum):
    """What is taken out."""

    SECRETS = "secrets"
    SECRETS_AND_EMAILS = "secrets_and_emails"


def mark(kind: str) -> str:
    """What stands where something was."""
    return f"[redacted:{kind}]"


_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|credentials?|api[_-]?key|apikey|access[_-]?key|account[_-]?key|"
    r"signing[_-]?key|encryption[_-]?key|private[_-]?key|auth[_-]?key|shared[_-]?access[_-]?key|"
    r"(?:auth|access|refresh|session|bearer|id|bot|csrf|api)?[_-]?token|session[_-]?id|otp|pin[_-]?code)"
)
_SECRET_NAME = re.compile(rf"(?:^|[^a-z]|(?<=[a-z])(?=[A-Z])){_NAME}(?:$|[^a-z]|s$|(?<=[a-z])(?=[A-Z]))", re.IGNORECASE)
# What code and prose put behind such a name without telling it: types, calls, other names, what it is like.
_REFERENCE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\$\{\{.*|\{\{.*|<[^>]*>|%\w+%|\*+|\{\w*\}")
_HARMLESS = re.compile(
    r"(?:str|string|text|bytes?|char|varchar|uuid|int|integer|bool|boolean|any|optional|required|none|null|nil|"
    r"undefined|true|false|empty|missing|invalid|expired|hash|hashed|hidden|wrong|unknown|field|column|secretstr|"
    r"self|this|input|value|unset|default)[\])}.,;?!]*"
    r"|[A-Za-z_][\w.]*[(\[].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[\])}.,;]*",
    re.IGNORECASE,
)
_PRIVATE = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Where a repetition could begin at every second character it has an end, so that no text takes time by its square.
_URL = re.compile(
    r"""\b([a-z][a-z0-9+.-]{1,30}://)([^\s/:@"'<>`]*):(?!\d{1,5}(?:[/?#]|\s|$))((?:[^\s"'<>`:]|:(?!//))+)@""",
    re.IGNORECASE,
)
_WEBHOOK = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|"
    r"[a-z0-9.-]+\.webhook\.office\.com/webhookb2)/[^\s\"'<>]+",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"\b(authorization|proxy-authorization|x-[a-z-]{0,30}(?:key|token|secret|auth)[a-z-]{0,30}|set-cookie|cookie)"
    r"""(["']?\s*[:=]\s*["']?)(?!\[redacted:)(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?[^\s"'\r\n][^"'\r\n]*""",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"\b(bearer|basic)\s+(?!\[redacted:)(?=[A-Za-z0-9._~+/=-]*[0-9._~+/=])[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE
)
_KEYS = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,} | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9+/=]{16,}
      | (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[A-Z0-9]{16}
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,} | glpat-[A-Za-z0-9_-]{16,}
      | xox[abposre]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}
      | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,} | GOCSPX-[A-Za-z0-9_-]{20,}
      | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{20,} | hf_[A-Za-z0-9]{20,} | dapi[a-f0-9]{32}
      | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | key-[a-z0-9]{32} | (?:SK|AC)[a-f0-9]{32}
      | do[opr]_v1_[a-f0-9]{40,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32} | hv[sbr]\.[A-Za-z0-9_-]{20,}
      | parley_[A-Za-z0-9_-]{16,} | AGE-SECRET-KEY-1[0-9A-Z]{50,} | [0-9]{8,10}:AA[A-Za-z0-9_-]{33}
      | lin_api_[A-Za-z0-9]{20,} | figd_[A-Za-z0-9_-]{20,} | sntrys_[A-Za-z0-9+/=_-]{20,} | PMAK-[a-f0-9-]{40,}
    )""",
    re.VERBOSE,
)
_JWT = re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{5,2000}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?")
_ELEMENT = re.compile(rf"<([\w:.-]{{0,40}}{_NAME}[\w:.-]{{0,40}})>(?!\[redacted:)([^<]+)</", re.IGNORECASE)
_OPTION = re.compile(
    rf"(?<![\w-])(--?[\w-]{{0,40}}?{_NAME}[\w-]{{0,40}}[ =]{{1,4}})(?!\[redacted:)(\"[^\"]*\"|'[^']*'|[^\s\"']+)",
    re.IGNORECASE,
)
_USER = re.compile(r"(\s(?:-u|--user)[ =]{1,4}[\"']?[^\s:\"']{1,200}:)(?!\[redacted:)[^\s\"']+")
_ASSIGNED = re.compile(
    rf"""(?<![\w.-])([\w.-]*?{_NAME}[\w-]{{0,40}}["'`\])]{{0,3}}\s{{0,4}}(?::=|=>|=|:)\s{{0,4}})
    (?!\s|\[redacted:)(?:(["'`])((?:\\.|(?!\2)[^\\\n])*)\2?|([^\s,;&"'`]+))""",
    re.IGNORECASE | re.VERBOSE,
)
_SAID = re.compile(
    rf"\b({_NAME}\s+(?:is|was|are|of|to)\s+)(?!\[redacted:)(?:(['\"`])([^'\"`\n]+)\2|(?=\S*[\d!$%^*#])([^\s,;]+))",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")


def redact(text: str, what: Redaction = Redaction.SECRETS) -> str:
    """The text without what is secret in it; everything else stays as it was."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _EMAIL.sub(mark("email"), text) if what is Redaction.SECRETS_AND_EMAILS else text


def redacted(value: Any, what: Redaction = Redaction.SECRETS) -> Any:
    """A document without what is secret in it, names included; what stands under a secret's name goes as a whole."""
    if isinstance(value, str):
        return redact(value, what)
    if isinstance(value, dict):
        return {redact(str(name), what): _under(str(name), inner, what) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redacted(inner, what) for inner in value)
    return value


def _under(name: str, value: Any, what: Redaction) -> Any:
    if isinstance(value, str) and _SECRET_NAME.search(name) and _is_told(name, value, quoted=True):
        return mark("password")
    return redacted(value, what)


def _assigned(found: re.Match[str]) -> str:
    before, quote, quoted, bare = found.groups()
    if _is_told(before, quoted or bare or "", quoted=quote is not None):
        closing = quote if quote and found[0].endswith(quote) else ""
        return f"{before}{quote or ''}{mark('password')}{closing}"
    return found[0]


def _is_told(name: str, value: str, *, quoted: bool) -> bool:
    """Whether the value is the secret itself, not its type, where it comes from, or how many there are."""
    if not value or value.startswith("[redacted:") or _REFERENCE.fullmatch(value):
        return False
    counted = value.isdigit() and "tokens" in name.lower()
    return not counted and (quoted or (len(value) > 2 and not _HARMLESS.fullmatch(value)))


def _said(found: re.Match[str]) -> str:
    quote = found[2] or ""
    return f"{found[1]}{quote}{mark('password')}{quote}"


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_PRIVATE, mark("private-key")),
    (_WEBHOOK, mark("webhook")),
    (_URL, rf"\1{mark('credentials')}@"),
    (_HEADER, rf"\1\2{mark('token')}"),
    (_BEARER, rf"\1 {mark('token')}"),
    (_JWT, mark("token")),
    (_KEYS, mark("key")),
    (_ELEMENT, rf"<\1>{mark('password')}</"),
    (_OPTION, rf"\1{mark('password')}"),
    (_USER, rf"\1{mark('password')}"),
    (_ASSIGNED, _assigned),
    (_SAID, _said),
)
