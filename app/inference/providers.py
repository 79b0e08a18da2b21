"""The models that this installation may call, by name. A provider's library is loaded when it is first called.

Keys and addresses come from the variables that each provider's own tools read; nothing else in Parley reads them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

from httpx2 import AsyncClient
from pydantic_ai.models import Model, create_async_httpx2_client

from app.config import Settings
from app.inference.failures import InferenceFailed, Sort
from app.inference.request import OFFLINE


class Provider(NamedTuple):
    """The variables that it reads, and where its service is when the one for the address is unset."""

    key: str
    url: str
    default_url: str | None = None
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "ollama": Provider("OLLAMA_API_KEY", "OLLAMA_BASE_URL", "http://localhost:11434/v1", needs_key=False),
    "openai": Provider("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
_NOBODYS_KEY = "none"  # the libraries insist on one where the service does not


class Providers:
    """Holds one connected model per name, for all runs of a process. To be closed with it."""

    def __init__(self, settings: Settings, environment: Mapping[str, str] | None = None) -> None:
        self.request_timeout_s = settings.model_request_timeout_s
        self._tiers = (settings.model_tier_0, settings.model_tier_1, settings.model_tier_2)
        self._environment = os.environ if environment is None else environment
        self._connected: dict[str, Model] = {}
        self._client: AsyncClient | None = None

    def name_of(self, tier: int) -> str:
        """The model of tier 0 (light), 1 (ordinary) or 2 (demanding)."""
        return self._tiers[tier]

    def connect(self, name: str) -> Model:
        """Raises InferenceFailed when the name is unknown or its key is not set. Makes no request."""
        if name not in self._connected:
            self._connected[name] = self._connect(name)
        return self._connected[name]

    async def close(self) -> None:
        self._connected.clear()
        client, self._client = self._client, None
        if client:
            await client.aclose()

    def _connect(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        if provider not in PROVIDERS or not model:
            known = ", ".join(f"{one}:<model>" for one in PROVIDERS)
            raise InferenceFailed("MODEL_UNKNOWN", f"'{name}' is not a model: use {OFFLINE} or {known}.", Sort.FINAL)
        variables = PROVIDERS[provider]
        key, url = self._environment.get(variables.key), self._environment.get(variables.url)
        # A service of one's own, under an address of one's own, may do without a key.
        if not key and variables.needs_key and not url:
            raise InferenceFailed(
                "MODEL_KEY_MISSING", f"{name}: set {variables.key} to the provider's key.", Sort.FINAL
            )
        self._client = self._client or create_async_httpx2_client()
        connector = import_module(f"app.inference.connectors.{provider}")
        connected: Model = connector.connect(
            model, key=key or _NOBODYS_KEY, url=url or variables.default_url, client=self._client
        )
        return connected
