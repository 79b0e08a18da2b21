"""Where a running `parley dev` has its services, so that the other commands reach them without being told."""

from __future__ import annotations

import json
import os
from pathlib import Path

NAMES = ("DATABASE_URL", "REDIS_URL")


def announce(data_dir: Path, addresses: dict[str, str]) -> None:
    """Readable by this user only: the addresses contain passwords."""
    draft = data_dir / "services.json.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"pid": os.getpid(), **addresses}, file)
    draft.replace(data_dir / "services.json")


def withdraw(data_dir: Path) -> None:
    (data_dir / "services.json").unlink(missing_ok=True)


def addresses(data_dir: Path) -> dict[str, str]:
    """Empty unless a `parley dev` runs on the folder."""
    try:
        found = json.loads((data_dir / "services.json").read_text())
        os.kill(found["pid"], 0)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {name: found[name] for name in NAMES if name in found}
