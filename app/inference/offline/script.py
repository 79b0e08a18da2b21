"""Lines of a conversation that tell the offline model what to say as whom, for demos and tests. Pure.

`@as writer: The draft is complete. | word_count: 850` makes the writer say so, ` | ` beginning a new line. Of several
lines for one agent each is said once, in order, and the last one again and again.
"""

from __future__ import annotations

import re

from app.inference.prompt import Assignment

_LINE = re.compile(r"^\s*@as\s+(?P<agent>[\w .-]{1,120}?)\s*:\s*(?P<words>\S.*)$", re.MULTILINE | re.IGNORECASE)


def scripted(task: Assignment) -> str | None:
    """What the agent is told to say in this reply; None when nothing is."""
    if not task.agent:
        return None
    whole = f"{task.context}\n{task.instructions}"
    lines = [found["words"] for found in _LINE.finditer(whole) if _plain(found["agent"]) == _plain(task.agent)]
    if not lines:
        return None
    replies = len(re.findall(rf"^{re.escape(task.agent)} \(agent\): ", task.context, re.MULTILINE))
    words = lines[min(replies, len(lines) - 1)]
    return "\n".join(part.strip() for part in words.split("|"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
