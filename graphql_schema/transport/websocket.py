"""GraphQL over WebSocket in the graphql-transport-ws protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any

import orjson
from graphql import OperationType

from app.auth.principal import Principal
from app.config import Settings, environment_name
from app.errors import AppError, RateLimited, TookTooLong, Unauthenticated, Unavailable
from app.observability import metrics
from graphql_schema.answer import Answer, Operation
from graphql_schema.errors import masked
from graphql_schema.execution import Executor
from graphql_schema.streams.key_watch import KeyWatch
from graphql_schema.streams.subscriber import SinkGone, Subscriber
from graphql_schema.transport.authentication import Authenticator
from graphql_schema.transport.connections import OpenConnections
from graphql_schema.transport.intake import Intake
from graphql_schema.transport.refusals import HttpRefusal, Refused, from_app_error
from graphql_schema.transport.request import from_payload
from graphql_schema.transport.socket import DirectSocket, socket_of

SUBPROTOCOL = "graphql-transport-ws"
MAX_ID_CHARS = 200
MESSAGES_A_TURN = 10
MAX_MESSAGES_WITHOUT_KEY = 20
MAX_REASON_BYTES = 123  # what a close frame can hold
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Code:
    """Close codes. Clients of graphql-ws come back after 1012, 1013, 4403 and 4408, and give up after the others."""

    RESTART = 1012
    TRY_LATER = 1013
    BAD_REQUEST = 4400
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    SUBPROTOCOL = 4406
    INIT_TIMEOUT = 4408
    DUPLICATE = 4409
    TOO_MANY = 4429


class Closed(Exception):
    """The server ends the connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class WebSocketEndpoint:
    def __init__(
        self,
        executor: Executor,
        intake: Intake,
        authenticator: Authenticator,
        connections: OpenConnections,
        keys: KeyWatch,
        settings: Settings,
    ) -> None:
        self.executor, self.intake, self.authenticator = executor, intake, authenticator
        self.connections, self.keys, self.settings = connections, keys, settings

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        if SUBPROTOCOL not in scope["subprotocols"]:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": Code.SUBPROTOCOL, "reason": "Subprotocol not acceptable"})
            return
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
        await Connection(self, scope, receive, send).run()


class Connection:
    """One client. Operations are independent: what goes wrong in one does not touch the others."""

    def __init__(self, endpoint: WebSocketEndpoint, scope: Any, receive: Receive, send: Send) -> None:
        self._endpoint = endpoint
        self._receive, self._send = receive, send
        self._address = scope["client"][0] if scope.get("client") else "unknown"
        self.socket: DirectSocket = socket_of(scope)
        self._principal: Principal | None = None
        self._operations: dict[str, asyncio.Task[None] | Subscriber | None] = {}
        self._held = ExitStack()
        self._conversation: asyncio.Task[Any] | None = None
        self._ended: Closed | None = None
        self._messages = 0

    async def run(self) -> None:
        self.socket.at_shutdown(lambda: self.end(Closed(Code.RESTART, "The server restarts; come back")))
        try:
            await self._converse_until_ended()
        except Closed as closed:
            await self._close(closed)
        finally:
            for operation in self._operations.values():
                _stop(operation)
            self._operations.clear()
            self._held.close()

    async def _converse_until_ended(self) -> None:
        self._conversation = conversation = asyncio.current_task()
        assert conversation is not None
        try:
            await self._converse()
        except asyncio.CancelledError:
            if self._ended is None:
                raise
            conversation.uncancel()
            raise self._ended from None
        finally:
            self._conversation = None

    async def _converse(self) -> None:
        try:
            async with asyncio.timeout(self._endpoint.settings.request_deadline_s):
                while self._principal is None:
                    if not await self._next():
                        return
                    self._messages += 1
                    if self._messages > MAX_MESSAGES_WITHOUT_KEY:
                        raise Closed(Code.TOO_MANY, "Too many messages before connection_init")
        except TimeoutError:
            raise Closed(Code.INIT_TIMEOUT, "Connection initialisation timeout") from None
        while await self._next():
            self._messages += 1
            if self._messages % MESSAGES_A_TURN == 0:
                await asyncio.sleep(0)  # messages that wait already come without a pause in which others have a turn

    def end(self, closed: Closed) -> None:
        """End the connection from outside its own task."""
        if self._ended is None and self._conversation is not None:
            self._ended = closed
            self._conversation.cancel()

    async def _next(self) -> bool:
        """Handle one message; False when the client has left."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            return False
        text = message.get("text")
        try:
            content = orjson.loads(text if text is not None else message.get("bytes") or b"")
            kind = content["type"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            raise Closed(Code.BAD_REQUEST, "Invalid message: not a JSON object with a type") from None
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            raise Closed(Code.BAD_REQUEST, f"Unknown message type {str(kind)[:40]}")
        await handle(self, content)
        return True

    async def _init(self, message: dict[str, Any]) -> None:
        if self._principal is not None:
            raise Closed(Code.TOO_MANY, "Too many initialisation requests")
        parameters = message.get("payload") or {}
        if not isinstance(parameters, dict):
            raise Closed(Code.BAD_REQUEST, "The connection parameters must be an object")
        header = next((value for name, value in parameters.items() if name.lower() == "authorization"), None)
        try:
            principal = await self._endpoint.authenticator.principal(
                header if isinstance(header, str) else None, self._address
            )
            self._held.enter_context(self._endpoint.connections.hold(principal.key_id, "websocket"))
            # First watched, then asked: a key cannot die in between unseen.
            self._held.enter_context(self._endpoint.keys.watch(principal, lambda: self.end(_dead_key())))
            if not await self._endpoint.keys.is_live(principal):
                raise _dead_key()
        except Unauthenticated as error:
            raise Closed(Code.FORBIDDEN, error.message) from None
        except (RateLimited, Unavailable) as error:
            raise Closed(Code.TRY_LATER, error.message) from None
        self._principal = principal
        self.socket.authenticated()
        await self._send({"type": "websocket.send", "text": '{"type":"connection_ack"}'})

    async def _ping(self, message: dict[str, Any]) -> None:
        await self._write({"type": "pong", "payload": message["payload"]} if "payload" in message else {"type": "pong"})

    async def _pong(self, message: dict[str, Any]) -> None:
        return

    async def _subscribe(self, message: dict[str, Any]) -> None:
        if self._principal is None:
            raise Closed(Code.UNAUTHORIZED, "Unauthorized")
        name = message.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_ID_CHARS:
            raise Closed(Code.BAD_REQUEST, "Invalid message: subscribe needs an id")
        if not isinstance(message.get("payload"), dict):
            raise Closed(Code.BAD_REQUEST, "Invalid message: subscribe needs a payload")
        if name in self._operations:
            raise Closed(Code.DUPLICATE, f"Subscriber for {name[:60]} already exists")
        most = self._endpoint.settings.max_operations_per_socket
        if len(self._operations) >= most:
            await self._error(name, from_app_error(_too_many(most)))
            return
        self._operations[name] = asyncio.create_task(self._perform(name, message["payload"], self._principal))

    async def _complete(self, message: dict[str, Any]) -> None:
        name = message.get("id")
        if isinstance(name, str):
            _stop(self._operations.pop(name, None))

    async def _perform(self, name: str, payload: dict[str, Any], principal: Principal) -> None:
        started, kind = time.perf_counter(), "none"
        try:
            operation = await self._endpoint.intake.operation(from_payload(payload), principal)
            kind = operation.type.value
            await self._endpoint.intake.charge(operation, principal)
            if operation.type is OperationType.SUBSCRIPTION:
                sink = SocketSink(self, name)
                self._operations[name] = await self._endpoint.executor.subscribe(operation, principal, sink)
                return
            answer = await self._answer(operation, principal)
        except Refused as refused:
            answer = refused.answer
        except HttpRefusal as refusal:
            answer = from_app_error(refusal)
        except AppError as error:
            answer = from_app_error(error)
        except Exception as error:
            text, extensions = masked(error)
            answer = Answer(orjson.dumps({"errors": [{"message": text, "extensions": extensions}]}), refused=True)
        metrics.record("websocket", kind, "refused" if answer.refused else "ok", time.perf_counter() - started)
        self._operations.pop(name, None)
        with suppress(OSError):  # the client has left meanwhile
            await (self._error(name, answer) if answer.refused else self._result(name, answer))

    async def _answer(self, operation: Operation, principal: Principal) -> Answer:
        timeout_s = self._endpoint.settings.operation_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._endpoint.executor.execute(operation, principal)
        except TimeoutError:
            raise TookTooLong(
                f"The operation took longer than the {timeout_s:g} seconds that it may.",
                maximum=timeout_s,
                setting=environment_name("operation_timeout_s"),
            ) from None
        if answer.status == 401:
            self._endpoint.authenticator.forget(principal)
            self.end(_dead_key())
        return answer

    async def _result(self, name: str, answer: Answer) -> None:
        quoted = orjson.dumps(name)
        await self._raw(b'{"id":' + quoted + b',"type":"next","payload":' + answer.body + b"}")
        await self._raw(b'{"id":' + quoted + b',"type":"complete"}')

    async def _error(self, name: str, answer: Answer) -> None:
        errors = orjson.loads(answer.body)["errors"]
        await self._write({"id": name, "type": "error", "payload": errors})

    async def _write(self, message: dict[str, Any]) -> None:
        await self._raw(orjson.dumps(message))

    async def _raw(self, body: bytes) -> None:
        await self._send({"type": "websocket.send", "text": body.decode()})

    def failed(self, name: str, error: Exception) -> None:
        """A subscription broke: tell its client, who may try again."""
        self._operations.pop(name, None)
        if isinstance(error, AppError):
            shown = orjson.loads(from_app_error(error).body)["errors"]
        else:
            text, extensions = masked(error)
            shown = [{"message": text, "extensions": extensions}]
        if not self.socket.ready:  # it must not wait for ever for what does not come
            self.socket.abort()
            return
        body = {"id": name, "type": "error", "payload": shown}
        self.socket.write(orjson.dumps(body))

    async def _close(self, closed: Closed) -> None:
        if closed.code == Code.RESTART:
            await self._finish_work()
        if not self.socket.ready:  # a polite close would wait for ever behind a full buffer
            self.socket.abort()
            return
        reason = closed.reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
        await self._send({"type": "websocket.close", "code": closed.code, "reason": reason})

    async def _finish_work(self) -> None:
        """Streams stop, queries and mutations still answer; the server's grace time bounds it."""
        working = [operation for operation in self._operations.values() if isinstance(operation, asyncio.Task)]
        for operation in self._operations.values():
            if isinstance(operation, Subscriber):
                operation.close()
        if working:
            await asyncio.wait(working)


class SocketSink:
    """Frames payloads for one operation of one socket and writes them while the socket takes them."""

    __slots__ = ("_connection", "_name", "_prefix", "_socket")

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self._name, self._socket = connection, name, connection.socket
        self._prefix = b'{"id":' + orjson.dumps(name) + b',"type":"next","payload":'

    @property
    def ready(self) -> bool:
        return self._socket.ready

    def push(self, payloads: list[bytes]) -> None:
        prefix = self._prefix
        self._socket.write(*[prefix + payload + b"}" for payload in payloads])

    async def until_ready(self) -> None:
        await self._socket.until_ready()
        if not self._socket.open:
            raise SinkGone

    def fail(self, error: Exception) -> None:
        self._connection.failed(self._name, error)


def _dead_key() -> Closed:
    return Closed(Code.FORBIDDEN, "The API key was revoked or has expired")


def _too_many(most: int) -> AppError:
    return RateLimited(
        f"This socket has {most} operations open, which is the most that it may.",
        limit=most,
        setting=environment_name("max_operations_per_socket"),
    )


def _stop(operation: asyncio.Task[None] | Subscriber | None) -> None:
    if isinstance(operation, Subscriber):
        operation.close()
    elif operation is not None:
        operation.cancel()


_HANDLERS: dict[str, Callable[[Connection, dict[str, Any]], Awaitable[None]]] = {
    "connection_init": Connection._init,
    "ping": Connection._ping,
    "pong": Connection._pong,
    "subscribe": Connection._subscribe,
    "complete": Connection._complete,
}
