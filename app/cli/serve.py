"""`parley serve`."""

from __future__ import annotations

import socket
from typing import Annotated

import typer
import uvicorn

from app.cli.connection import connected_settings
from app.cli.descriptors import raise_descriptor_limit
from app.config import Settings
from app.main import create_app
from graphql_schema.transport.hooks import check_hooks
from graphql_schema.transport.socket import protocols


def command(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [PARLEY_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [PARLEY_PORT]")] = None,
) -> None:
    """Run the API. Stateless: run as many as you like on one database and Redis.

    SIGTERM lets open work finish (PARLEY_SHUTDOWN_GRACE_S) and tells WebSocket clients to reconnect.
    """
    given = {name: value for name, value in {"host": host, "port": port}.items() if value is not None}
    settings = connected_settings(**given)
    raise_descriptor_limit()
    Server(server_config(settings)).run()


class Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn waits for every response before it tells the application; event streams end only when told."""
        self.config.app.state.begin_closing()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def server_config(settings: Settings) -> uvicorn.Config:
    check_hooks()
    http, websocket = protocols(settings)
    return uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=http,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.trusted_proxies.strip()),
        forwarded_allow_ips=settings.trusted_proxies,
        ws=websocket,
        ws_max_size=settings.max_body_bytes,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=int(settings.shutdown_grace_s),
    )
