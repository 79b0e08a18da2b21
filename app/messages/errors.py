"""Refusals of messages."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import AppError


class InboxFull(AppError):
    """Back-pressure: whoever does not read gets no more."""

    code = "INBOX_FULL"

    def __init__(self, agents: Sequence[str], limit: int) -> None:
        named = ", ".join(agents[:10]) + ("…" if len(agents) > 10 else "")
        super().__init__(
            f"{len(agents)} of the recipients' inboxes hold {limit:,} unread messages, the most: {named}. Nobody got "
            "this message. Send it again when some were acknowledged (acknowledgeInbox) or have expired, or pause an "
            "agent that does not read to leave it out of team messages.",
            agents=list(agents),
            limit=limit,
        )


class NoDirectMessages(AppError):
    """The team's policy is hub and spoke."""

    code = "NO_DIRECT_MESSAGES"

    def __init__(self) -> None:
        super().__init__(
            "This team works hub and spoke: its agents reach each other by task, handoff or consultation only. "
            "Delegate a task, or write to the channel of a task that both have part in. An admin can change it with "
            "setMessagePolicy."
        )


class NotInChannel(AppError):
    """Only members speak in a channel."""

    code = "NOT_IN_CHANNEL"

    def __init__(self, slug: str, channel: str) -> None:
        super().__init__(f"{slug} is no member of the channel {channel}, and only members may write to it.")


class ChannelClosed(AppError):
    """There is nobody in the channel, or it takes no messages any more."""

    code = "CHANNEL_CLOSED"
