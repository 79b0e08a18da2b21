"""What the operator has the offline model say as an agent, for demos and tests. Pure."""

from __future__ import annotations

import re

from app.config import ScriptedReply
from app.inference.prompt import Assignment


def scripted_reply(task: Assignment) -> ScriptedReply | None:
    """The entry for this run; None when there is none. Nothing that a user or an agent wrote adds one."""
    request = f"{task.title}\n{task.instructions}".casefold()
    conversation = f"{request}\n{task.context}".casefold()
    entries = [
        entry
        for entry in task.script
        if entry.when.casefold() in request and entry.in_conversation.casefold() in conversation
    ]
    if not entries:
        return None
    replies = 0
    if task.agent:
        replies = len(re.findall(rf"^{re.escape(task.agent)} \(agent\): ", task.context, re.MULTILINE))
    return entries[min(replies, len(entries) - 1)]


def entries_of(script: tuple[ScriptedReply, ...], *names: str) -> tuple[ScriptedReply, ...]:
    """The entries of an agent, by its slug or its name, and those of any."""
    known = {"", *(_plain(name) for name in names)}
    return tuple(entry for entry in script if _plain(entry.agent) in known)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
