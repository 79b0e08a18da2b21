"""Takes out of what a model wrote the few characters and numbers that no database keeps."""

from __future__ import annotations

import math
from typing import Any


def clean(value: Any) -> Any:
    """Null characters go, halves of characters become question marks, and numbers without end become null."""
    match value:
        case str():
            return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {clean(str(name)): clean(item) for name, item in value.items()}
        case list() | tuple():
            return [clean(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value
