"""When Python looks for garbage in cycles: rarely in all that lives, because that stops everything meanwhile.

By default a full collection runs whenever a quarter more objects live. While new documents arrive that is several
times a second, each for 100 to 300 ms. Nearly all that a server drops is freed at once by its reference count.
"""

from __future__ import annotations

import asyncio
import gc

FULL_COLLECTION_S = 60.0
_NEVER = 1_000_000_000


def calm_collector() -> None:
    """Collects what is young as ever and leaves the rest to `collect_regularly`. What lives now is never looked at."""
    gc.set_threshold(5_000, 10, _NEVER)
    gc.freeze()


async def collect_regularly() -> None:
    while True:
        await asyncio.sleep(FULL_COLLECTION_S)
        gc.collect()
