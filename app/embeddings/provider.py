"""Embeddings of any provider that speaks OpenAI's `POST /embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from app.embeddings.embedder import DIMENSIONS, EmbeddingFailed, Vectors, unit

MOST_TEXTS = 256  # in one request; more are split
MAY_PASS = {408, 409, 425, 429, 500, 502, 503, 504}


class ProviderEmbedder:
    """Asks for vectors of DIMENSIONS, so the model has to be one that can shorten its own."""

    def __init__(self, *, model: str, url: str, key: str | None, timeout_s: float) -> None:
        self.name = f"{model}@{httpx.URL(url).host}"
        self._model = model
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=timeout_s,
        )

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        worded = [place for place, text in enumerate(texts) if text.strip()]
        for start in range(0, len(worded), MOST_TEXTS):
            places = worded[start : start + MOST_TEXTS]
            rows[places] = await self._ask([texts[place] for place in places])
        return unit(rows)

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, texts: list[str]) -> Vectors:
        wanted = {"model": self._model, "input": texts, "dimensions": DIMENSIONS, "encoding_format": "float"}
        try:
            answer = await self._client.post("embeddings", json=wanted)
        except httpx.TimeoutException as error:
            raise EmbeddingFailed(f"{self.name} took too long to embed.", may_pass=True) from error
        except httpx.HTTPError as error:
            raise EmbeddingFailed(f"{self.name} cannot be reached: {error}", may_pass=True) from error
        if answer.status_code != httpx.codes.OK:
            may_pass = answer.status_code in MAY_PASS
            raise EmbeddingFailed(f"{self.name} answered {answer.status_code}.", may_pass=may_pass)
        return self._vectors(answer, len(texts))

    def _vectors(self, answer: httpx.Response, expected: int) -> Vectors:
        try:
            entries: list[dict[str, Any]] = sorted(answer.json()["data"], key=lambda entry: entry["index"])
            rows = np.array([entry["embedding"] for entry in entries], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingFailed(f"{self.name} did not answer with embeddings.", may_pass=False) from error
        if rows.shape != (expected, DIMENSIONS) or not np.isfinite(rows).all():
            raise EmbeddingFailed(
                f"{self.name} answered {rows.shape} numbers instead of {(expected, DIMENSIONS)}. "
                "Choose a model that can give 256 dimensions.",
                may_pass=False,
            )
        return rows
