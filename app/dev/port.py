"""The port of the API: is it free, and does a ready server answer on it."""

from __future__ import annotations

import errno
import http.client
import socket

from app.errors import ConfigurationError, Conflict

PROBE_TIMEOUT_S = 2.0


def claim(host: str, port: int) -> int:
    """The port to listen on, picked when it is 0. Raises Conflict when another program has it."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror:
        raise ConfigurationError(f"PARLEY_HOST: '{host}' is not an address of this machine") from None
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server itself does; without it a port of a server just stopped would count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen()
        except OSError as error:
            raise _refusal(host, port, error) from None
        return int(probe.getsockname()[1])


def _refusal(host: str, port: int, error: OSError) -> Conflict | ConfigurationError:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8001
        way_out = f"Stop that one, or choose another: PORT={other} make run"
        return Conflict(f"Port {port} is taken by another program. {way_out}")
    if error.errno == errno.EACCES:
        return ConfigurationError(f"This user may not listen on port {port}; choose one above 1023: PORT=8001 make run")
    return ConfigurationError(f"Cannot listen on {host}, port {port}: {error.strerror}")


def reachable_host(host: str) -> str:
    """The host by which this machine itself reaches a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


def is_ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(reachable_host(host), port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
