"""A response's head and body leave in one write."""

from __future__ import annotations

from graphql_schema.transport.cork import Cork

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class FakeTransport:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def writelines(self, parts: tuple[bytes, ...]) -> None:
        self.written.append(b"".join(parts))

    def close(self) -> None:
        self.closed = True


def test_head_and_body_are_written_together() -> None:
    transport = FakeTransport()
    cork = Cork(transport)

    cork.write(HEAD)
    cork.write(b"{}")

    assert transport.written == [HEAD + b"{}"]


def test_an_empty_body_lets_the_head_go() -> None:
    transport = FakeTransport()
    cork = Cork(transport)

    cork.write(HEAD)
    cork.write(b"")

    assert transport.written == [HEAD]


def test_a_stream_begins_at_once() -> None:
    transport = FakeTransport()
    cork = Cork(transport)

    cork.write(STREAM_HEAD)

    assert transport.written == [STREAM_HEAD]


def test_closing_lets_a_held_head_go() -> None:
    transport = FakeTransport()
    cork = Cork(transport)

    cork.write(HEAD)
    cork.close()

    assert transport.written == [HEAD]
    assert transport.closed
