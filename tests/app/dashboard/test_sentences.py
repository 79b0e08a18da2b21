"""Every event that the log may hold has a sentence in the dashboard's feeds."""

from __future__ import annotations

import re
from pathlib import Path

import app.dashboard
from app.events.kinds import EventKind

FEED = Path(app.dashboard.__file__).parent / "static" / "events.js"


def test_every_kind_of_event_has_one_sentence() -> None:
    said = re.findall(r"^  ([A-Z_]+): \(", FEED.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(said) == sorted(kind.name for kind in EventKind)
