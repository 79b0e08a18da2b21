"""Who is addressed by name in a message: `@kyra`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

URL = re.compile(r"https?://\S+", re.IGNORECASE)  # whose path may have an @name of its own
# Not after a letter, digit or dot, so that an e-mail address is no mention.
MENTION = re.compile(r"(?<![\w.+@-])@([a-z0-9][a-z0-9_-]*+)(?!@|\.[a-z])", re.IGNORECASE)

# Names that are no agent's: of packages and of decorators, and whatever stands in backticks.
CODE = re.compile(r"```.*?```|`[^`\n]*+`|@[\w-]++(?:/\w|\()", re.DOTALL)
MOST_TOLD = 2  # mentions that are told by name when they are passed over
LONGEST_TOLD = 40  # characters of such a name: all that a decision may have to tell has to fit into its warning


def mentions(text: str) -> list[str]:
    """Slugs that are mentioned, in order, each once, lower case. Whether such agents exist is the caller's question."""
    found = (match.group(1).lower().replace("_", "-").rstrip("-") for match in MENTION.finditer(URL.sub(" ", text)))
    return list(dict.fromkeys(found))


def addressing_nobody(text: str) -> str:
    """The same text, with names in it that address nobody."""
    return MENTION.sub(r"\1", text)


def first_mentioned(text: str, active: Collection[str]) -> str | None:
    """The first mentioned agent that is active; unknown and paused ones are passed over."""
    return next((slug for slug in mentions(text) if slug in active), None)


def passed_over(text: str, active: Collection[str]) -> list[str]:
    """Mentions before the first of an active agent, or all without one; only such as may be meant for an agent."""
    before = list(takewhile(lambda slug: slug not in active, mentions(text)))
    spoken = set(mentions(CODE.sub(" ", text))) if before else ()
    return [slug for slug in before if slug in spoken and not slug[0].isdigit()]


def unheard(passed: Sequence[str], statuses: Mapping[str, str]) -> str:
    """What the user is told of mentions that were passed over. `statuses` are those of the team's agents by slug."""
    told = [_unheard(slug, statuses.get(slug)) for slug in passed[:MOST_TOLD]]
    more = len(passed) - MOST_TOLD
    if more > 0:
        told.append(f"{more} more {'mention was' if more == 1 else 'mentions were'} passed over.")
    return " ".join(told)


def _unheard(slug: str, status: str | None) -> str:
    name = slug if len(slug) <= LONGEST_TOLD else f"{slug[:LONGEST_TOLD]}…"
    if status is None:
        return f"The team has no agent @{name}: mention one by its slug."
    otherwise = "resume it, or mention another agent" if status == "paused" else "mention another agent"
    return f"@{name} is {status}: {otherwise}."
