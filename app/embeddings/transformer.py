"""Embeddings of a sentence-transformers model in this process: better vectors, for a gigabyte of torch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np

from app.embeddings.embedder import EmbeddingFailed, Vectors, fitted
from app.errors import ConfigurationError

PACKAGE = "sentence_transformers"


class TransformerEmbedder:
    """Loads the model at the first use. Models of other than 256 dimensions are cut or padded to 256."""

    def __init__(self, model: str) -> None:
        if find_spec(PACKAGE) is None:
            raise ConfigurationError(
                "PARLEY_EMBEDDER asks for sentence-transformers, which is not installed. "
                "Install the extra: `pip install 'parley[transformers]'`."
            )
        self.name = f"{model}@sentence-transformers-{version('sentence-transformers')}"
        self._wanted = model
        self._using = Lock()
        self._model: Any = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        try:
            return await asyncio.to_thread(self._embed, list(texts))
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbeddingFailed(f"{self.name} could not embed: {error}", may_pass=False) from error

    def _embed(self, texts: list[str]) -> Vectors:
        with self._using:
            if self._model is None:
                self._model = import_module(PACKAGE).SentenceTransformer(self._wanted)
            rows = np.asarray(self._model.encode(texts), dtype=np.float32).reshape(len(texts), -1)
        rows[[place for place, text in enumerate(texts) if not text.strip()]] = 0
        return fitted(rows)
