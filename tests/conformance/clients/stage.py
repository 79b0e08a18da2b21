"""Where the clients play: a real `parley serve`, a proxy before it that cuts connections, and their processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx

from app.auth.roles import Role
from app.auth.service import issue
from app.auth.tokens import new_secret
from app.clock import now
from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.documents import service as documents
from app.events import partitions
from app.events.log import SYSTEM
from app.teams import service as teams
from tests.fixtures.commands import Command

FOLDER = Path(__file__).parent
START_S = 90.0  # once a run everything is imported first
PATIENCE_S = 30.0
CREATE_AGENT = "mutation ($slug: String!) { createAgent(input: {slug: $slug, name: $slug}) { __typename } }"
CREATED = "{ events(first: 100, where: {kind: {eq: AGENT_CREATED}}) { nodes { id cursor agent { slug } } } }"


class Event(NamedTuple):
    """What the tests compare; Apollo adds a `__typename` to every object."""

    id: str
    cursor: str
    slug: str


def event_of(item: dict[str, Any]) -> Event:
    return Event(item["id"], item["cursor"], item["agent"]["slug"])


class Server:
    """`parley serve` as its users run it, to stop, kill and start again."""

    def __init__(self, database_url: str, redis_url: str, log: Path) -> None:
        self.database_url = database_url
        self._environment = os.environ | {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "PARLEY_LOG_LEVEL": "warning",
        }
        self._log = log
        self._process: Command | None = None
        self.port = 0

    def start(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process = Command("serve", "--port", str(self.port), environment=self._environment, log=self._log)
        deadline = monotonic() + START_S
        while not self._is_ready():
            assert self._process.runs(), self._log.read_text()
            assert monotonic() < deadline, self._log.read_text()
            sleep(0.05)

    def end(self, by: signal.Signals = signal.SIGTERM) -> float:
        """Returns how many seconds it took."""
        assert self._process is not None
        asked = monotonic()
        self._process.send_signal(by)
        self._process.wait(PATIENCE_S)
        return monotonic() - asked

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class Proxy:
    """Passes bytes between clients and the server, and cuts connections the way a failing network does."""

    def __init__(self, target: Callable[[], int]) -> None:
        self._target = target
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._up = True
        self._budgets: list[int] = []
        self.cuts = 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """Reset every open connection."""
        for connection, client in self._connections.items():
            self.cuts += 1
            client.transport.abort()
            connection.cancel()

    def cut_next_after(self, *sizes: int) -> None:
        """Reset each of the next connections when the server has sent so many bytes on it, mid-message if need be."""
        self._budgets.extend(sizes)

    @asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """Nobody is connected, and who tries is reset at once."""
        self._up = False
        self.cut()
        yield
        self._up = True

    def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if not self._up:
            client.transport.abort()
            return
        connection = asyncio.create_task(self._connect(reader, client))
        self._connections[connection] = client
        connection.add_done_callback(self._connections.pop)

    async def _connect(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        budget = self._budgets.pop(0) if self._budgets else sys.maxsize
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self._target())
        except OSError:
            client.transport.abort()
            return
        asking = asyncio.create_task(_pass(reader, server, sys.maxsize))
        try:
            if await _pass(answers, client, budget):
                self.cuts += 1
                client.transport.abort()
        finally:
            asking.cancel()
            server.transport.abort()
            client.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int) -> bool:
    """Whether the budget of bytes was used up before the end."""
    with suppress(OSError):
        while chunk := await reader.read(min(65_536, budget)):
            writer.write(chunk)
            await writer.drain()
            budget -= len(chunk)
            if budget <= 0:
                return True
        if writer.can_write_eof():
            writer.write_eof()
    return False


@dataclass
class Script:
    """A client's process, and what it has told so far."""

    name: str
    process: asyncio.subprocess.Process
    told: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """What came behind the client's own write. Its cursor lies further back when an older write was under way."""
        found = [event_of(item) for item in self.items if item["__typename"] == "Event"]
        slugs = [event.slug for event in found]
        return found[slugs.index(self.name) + 1 :] if self.name in slugs else found

    async def until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await self._hear()
        except TimeoutError:
            self.process.kill()
            told = {**self.told, "items": self.items}
            raise AssertionError(f"{self.name} waits in vain after {told}: {await self._errors()}") from None

    async def until_caught_up(self) -> None:
        await self.until(lambda: any(item["__typename"] == "CaughtUp" for item in self.items))

    async def until_end(self) -> None:
        await self.until(lambda: "end" in self.told)
        assert await self.process.wait() == 0, await self._errors()

    async def _hear(self) -> None:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line, f"{self.name} ended early: {await self._errors()}"
        said = json.loads(line)
        if said["step"] == "item":
            self.items.append(said["seen"])
        else:
            self.told[said["step"]] = said["seen"]

    async def _errors(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()[-3000:]


@dataclass
class Stage:
    """A team of its own on the running server, a proxy to it, and a key that the clients and the test both use."""

    server: Server
    proxy: Proxy
    transaction: Transactions
    team_id: UUID
    key: str
    http: httpx.AsyncClient
    scripts: list[Script] = field(default_factory=list)

    async def play(self, name: str, *command: str, **environment: str) -> Script:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=FOLDER,
            env=os.environ
            | {
                "PARLEY_URL": f"http://127.0.0.1:{self.proxy.port}/graphql",
                "PARLEY_KEY": self.key,
                "PARLEY_SLUG": name,
                **environment,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.scripts.append(script := Script(name, process))
        return script

    async def create_agents(self, *slugs: str) -> None:
        """Not through the proxy."""
        for slug in slugs:
            result = await self._ask(CREATE_AGENT, slug=slug)
            assert result["createAgent"]["__typename"] == "AgentPayload"

    async def events_behind(self, slug: str) -> list[Event]:
        """What a stream that starts behind the creation of this agent has to send: the log itself says it."""
        events = [event_of(node) for node in (await self._ask(CREATED))["events"]["nodes"]]
        return events[[event.slug for event in events].index(slug) + 1 :]

    async def trust(self, texts: dict[str, str]) -> None:
        async with self.transaction() as session:
            await documents.register(session, team_id=self.team_id, documents=texts, actor=SYSTEM)

    async def _ask(self, query: str, **variables: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.server.port}/graphql"
        answer = (await self.http.post(url, json={"query": query, "variables": variables})).json()
        assert "errors" not in answer, answer
        return dict(answer["data"])


@asynccontextmanager
async def open_stage(server: Server) -> AsyncIterator[Stage]:
    database = Database(load_settings(DATABASE_URL=server.database_url))
    transaction, secret = Transactions(database, _no_bell), new_secret()
    async with transaction() as session:
        await partitions.ensure(session, now())
        team = await teams.create(session, slug=f"t-{uuid4().hex[:8]}", name="Team", actor=SYSTEM)
        await issue(session, team_id=team.id, name="client", role=Role.ADMIN, secret=secret, actor=SYSTEM)
        team_id = team.id
    bearer = {"authorization": f"Bearer {secret}"}
    async with Proxy(lambda: server.port).running() as proxy, httpx.AsyncClient(headers=bearer) as http:
        stage = Stage(server, proxy, transaction, team_id, secret, http)
        try:
            yield stage
        finally:
            for script in stage.scripts:
                with suppress(ProcessLookupError):
                    script.process.kill()
                await script.process.communicate()
            await database.close()


async def _no_bell(bells: list[Any]) -> None:
    """The server polls, and nothing here waits for these events."""
