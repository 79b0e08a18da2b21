"""Settings for commands that need the services: given by the environment, else those of a running `parley dev`."""

from __future__ import annotations

from typing import Any

from app.config import Settings, load_settings
from app.dev import running
from app.errors import ConfigurationError


def connected_settings(**overrides: Any) -> Settings:
    """Raises ConfigurationError when there is no database or no Redis to speak to."""
    settings = reachable_settings(**overrides)
    missing = [
        name for name, url in (("DATABASE_URL", settings.database_url), ("REDIS_URL", settings.redis_url)) if not url
    ]
    if missing:
        raise ConfigurationError(
            f"{' and '.join(missing)} not set, and no `parley dev` runs on {settings.data_dir}. "
            "Set it, or start `parley dev` in another terminal."
        )
    return settings


def reachable_settings(**overrides: Any) -> Settings:
    """Like `connected_settings`, but leaves unknown what is unknown."""
    settings = load_settings(**overrides)
    found = running.addresses(settings.data_dir)
    return load_settings(
        **overrides,
        DATABASE_URL=settings.database_url or found.get("DATABASE_URL"),
        REDIS_URL=settings.redis_url or found.get("REDIS_URL"),
    )
