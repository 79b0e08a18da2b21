"""Sends the head of a response together with its body: one system call and one packet instead of two."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Cork:
    """A transport that holds back a head that announces its body's length until the body comes."""

    __slots__ = ("_held", "_transport")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._held = b""

    def write(self, data: bytes) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.writelines((held, data))
        elif data.startswith(b"HTTP/1.1 ") and b"\r\ncontent-length: " in data:
            self._held = data
        else:
            self._transport.write(data)

    def close(self) -> None:
        if self._held:
            self._transport.write(self._held)
        self._transport.close()

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())


class CorkedProtocol(HttpToolsProtocol):
    def on_headers_complete(self) -> None:
        before = self.cycle
        super().on_headers_complete()
        # The application starts in the loop's next turn. The answer to HEAD has a length and no body to wait for.
        if self.cycle is not before and self.scope["method"] != "HEAD":
            self.cycle.transport = Cork(self.transport)  # type: ignore[assignment]
