"""The default embedder: the mean of wordllama's token vectors, from files of the installed package, offline."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import ClassVar

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from app.embeddings.embedder import DIMENSIONS, Vectors, unit
from app.errors import ConfigurationError

WEIGHTS = Path("weights/l2_supercat_256.safetensors")
TOKENS = Path("tokenizers/l2_supercat_tokenizer_config.json")


class StaticEmbedder:
    """Reads its 16 MB of weights at the first use. A sentence then takes less than 0.1 ms.

    The package's own loader is not used: it looks for the tokenizer in a folder that the wheel does not have, goes to
    the network for it, and its import reconfigures the root logger.
    """

    _loading: ClassVar = Lock()
    _model: ClassVar[tuple[Tokenizer, Vectors] | None] = None  # one for all of a process

    def __init__(self) -> None:
        self.name = f"wordllama-{version('wordllama')}"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self._model is None:
            await asyncio.to_thread(self._load)
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """As `embed`, for callers outside an event loop."""
        tokenizer, weights = self._model or self._load()
        pooled = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # Lower case: `Reviews` falls into two rare tokens, `reviews` is one.
        encoded = tokenizer.encode_batch_fast([text.lower() for text in texts], add_special_tokens=False)
        for row, text in enumerate(encoded):
            if text.ids:  # the sum, which is longer than the mean and points to the same side
                np.add.reduce(weights[text.ids], axis=0, dtype=np.float32, out=pooled[row])
        return unit(pooled)

    def _load(self) -> tuple[Tokenizer, Vectors]:
        with self._loading:
            if StaticEmbedder._model is None:
                folder = _package_folder()
                os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # threads cost memory, and no fork has them
                tokenizer = Tokenizer.from_file(str(folder / TOKENS))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                StaticEmbedder._model = tokenizer, load_file(folder / WEIGHTS)["embedding.weight"]
            return StaticEmbedder._model


def _package_folder() -> Path:
    found = find_spec("wordllama")
    folder = Path(found.origin).parent if found and found.origin else None
    if folder is None or not (folder / WEIGHTS).exists() or not (folder / TOKENS).exists():
        raise ConfigurationError("The package wordllama or its weights are missing. Install Parley again.")
    return folder
