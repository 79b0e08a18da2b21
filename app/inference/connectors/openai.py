"""OpenAI, and every service that speaks its chat completions."""

from __future__ import annotations

from httpx2 import AsyncClient
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def connect(model: str, *, key: str, url: str | None, client: AsyncClient) -> Model:
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=url, api_key=key, http_client=client))
