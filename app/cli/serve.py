"""`parley serve`."""

from __future__ import annotations

from typing import Annotated

import typer
import uvicorn

from app.cli.connection import connected_settings
from app.config import Settings
from app.main import create_app
from graphql_schema.transport.socket import SocketProtocol


def command(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [PARLEY_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [PARLEY_PORT]")] = None,
) -> None:
    """Run the API. Stateless: run as many as you like on one database and Redis.

    SIGTERM lets open work finish (PARLEY_SHUTDOWN_GRACE_S) and tells WebSocket clients to reconnect.
    """
    given = {name: value for name, value in {"host": host, "port": port}.items() if value is not None}
    settings = connected_settings(**given)
    uvicorn.Server(server_config(settings)).run()


def server_config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        ws=SocketProtocol,
        ws_max_size=settings.max_body_bytes,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=int(settings.shutdown_grace_s),
    )
