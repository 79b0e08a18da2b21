"""The embedded Valkey comes back at the same address, empty, and lets nobody in without its password."""

import os
import stat
from pathlib import Path

import pytest
import redis

from app.dev.redis import EmbeddedValkey
from app.errors import Conflict


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_it_comes_back_at_the_same_address_and_empty(own_valkey: EmbeddedValkey, end: str) -> None:
    url = own_valkey.url()
    client = redis.Redis.from_url(url)
    client.set("bell", "rung")

    getattr(own_valkey, end)()

    with pytest.raises(redis.ConnectionError):
        client.get("bell")
    assert own_valkey.start() == url
    assert client.get("bell") is None
    client.close()


def test_memory_is_bounded_and_what_has_a_lifetime_goes_first(own_valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(own_valkey.url(), decode_responses=True) as client:
        assert client.config_get("maxmemory") == {"maxmemory": str(256 * 2**20)}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "volatile-lru"}


def test_password_is_needed_and_kept_from_others(own_valkey: EmbeddedValkey, tmp_path: Path) -> None:
    stranger = redis.Redis.from_url("redis://" + own_valkey.url().partition("@")[2])

    with pytest.raises(redis.AuthenticationError):
        stranger.ping()

    stranger.close()
    assert stat.S_IMODE((tmp_path / "valkey" / "valkey.conf").stat().st_mode) == 0o600


def test_second_server_on_one_folder_is_refused(own_valkey: EmbeddedValkey, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match=rf"already runs on .* \(started by process {os.getpid()}\)"):
        EmbeddedValkey(tmp_path).start()


@pytest.mark.parametrize("name", ["with a space", "ünïcode", 'quote\'s "here"', "x" * 200])
def test_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    server = EmbeddedValkey(tmp_path / name / name)

    with redis.Redis.from_url(server.start()) as client:
        assert client.ping() is True

    server.stop()


def test_nothing_is_written_to_disk(own_valkey: EmbeddedValkey, tmp_path: Path) -> None:
    with redis.Redis.from_url(own_valkey.url()) as client:
        client.set("bell", "rung")

    own_valkey.stop()

    assert [path.name for path in (tmp_path / "valkey").iterdir()] == ["valkey.conf"]
