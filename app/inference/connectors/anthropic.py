"""Anthropic."""

from __future__ import annotations

from httpx2 import AsyncClient
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider


def connect(model: str, *, key: str, url: str | None, client: AsyncClient) -> Model:
    return AnthropicModel(model, provider=AnthropicProvider(api_key=key, base_url=url, http_client=client))
