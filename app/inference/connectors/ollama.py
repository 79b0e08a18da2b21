"""Models on one's own machines, served by Ollama."""

from __future__ import annotations

from httpx2 import AsyncClient
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.providers.ollama import OllamaProvider


def connect(model: str, *, key: str, url: str | None, client: AsyncClient) -> Model:
    return OllamaModel(model, provider=OllamaProvider(base_url=url, api_key=key, http_client=client))
