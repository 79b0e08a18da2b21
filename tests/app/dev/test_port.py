"""A port is claimed before anything is started, and a taken one is named with the way out."""

import pytest

from app.dev import port
from app.errors import ConfigurationError, Conflict


def test_free_port_is_kept(taken_port: int) -> None:
    chosen = port.claim("127.0.0.1", 0)

    assert chosen != taken_port
    assert port.claim("127.0.0.1", chosen) == chosen


def test_taken_port_is_refused_with_another_to_try(taken_port: int) -> None:
    with pytest.raises(Conflict, match=rf"^Port {taken_port} is taken .* PORT={taken_port + 1} make run$"):
        port.claim("127.0.0.1", taken_port)


def test_taken_port_is_refused_on_all_addresses_too(taken_port: int) -> None:
    with pytest.raises(Conflict):
        port.claim("0.0.0.0", taken_port)


def test_unknown_host_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^PARLEY_HOST: 'no such host' is not an address"):
        port.claim("no such host", 0)


def test_host_of_another_machine_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^Cannot listen on 192\.0\.2\.1"):
        port.claim("192.0.2.1", 0)


def test_silent_port_is_not_ready(taken_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "PROBE_TIMEOUT_S", 0.1)

    assert port.is_ready("127.0.0.1", taken_port) is False
    assert port.is_ready("127.0.0.1", 1) is False
