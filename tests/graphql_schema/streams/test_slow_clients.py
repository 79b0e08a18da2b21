"""A client that does not read for a while costs little, slows nobody down and misses nothing."""

from __future__ import annotations

import psutil

from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, Writer

PAD = "x" * 100_000
EVENTS = 250  # with their padding 25 MB, far more than all buffers on the way hold


async def test_one_that_pauses_reads_all_from_the_log_later(parley: Parley, connect: Connect, writer: Writer) -> None:
    """Others go on meanwhile; then it gets everything in order, once."""
    start = await writer.say(-1)
    async with connect(max_queue=1) as slow, connect() as quick:
        for socket in (slow, quick):
            await socket.subscribe(TEAM_EVENTS, {"after": start})
            await socket.caught_up()
        before = psutil.Process().memory_info().rss
        for number in range(EVENTS):
            await writer.say(number, pad=PAD)
            assert await quick.numbers(1) == [number]
        grown = psutil.Process().memory_info().rss - before

        assert await slow.numbers(EVENTS) == list(range(EVENTS))
        assert grown < 15_000_000
        assert await slow.caught_up()
        await writer.say(EVENTS)
        assert await slow.numbers(1) == [EVENTS]
