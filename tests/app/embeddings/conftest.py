"""A provider on a port of this machine that answers what the test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Provider:
    url: str = ""
    status: int = 200
    body: bytes | None = None
    silent: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.headers.append(head.decode().lower())
                length = int(self.headers[-1].split("content-length: ")[1].split("\r\n")[0])
                self.asked.append(json.loads(await reader.readexactly(length)))
                if not self.silent:
                    answer = self.body if self.body is not None else self._vectors()
                    writer.write(f"HTTP/1.1 {self.status} .\r\ncontent-length: {len(answer)}\r\n\r\n".encode() + answer)
                    await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def _vectors(self) -> bytes:
        """The n-th text's vector points along the n-th axis; answered in reverse, as the API allows."""
        wanted = self.asked[-1]
        rows = [
            {"index": place, "embedding": [float(axis == place) * 2 for axis in range(wanted["dimensions"])]}
            for place in range(len(wanted["input"]))
        ]
        return json.dumps({"data": rows[::-1]}).encode()


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    played = Provider()
    server = await asyncio.start_server(played.serve, "127.0.0.1", 0)
    played.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield played
    server.close()
