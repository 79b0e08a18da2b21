"""What an embedder is: texts in, vectors of one length out. Which kind is used is a setting; callers do not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import AppError

DIMENSIONS = 256
Vectors = NDArray[np.float32]  # one row a text


class EmbeddingFailed(AppError):
    """The texts could not be embedded. `may_pass` tells whether the same call may succeed later."""

    code = "EMBEDDING_FAILED"

    def __init__(self, message: str, *, may_pass: bool) -> None:
        super().__init__(message, may_pass=may_pass)
        self.may_pass = may_pass


class Embedder(Protocol):
    """Safe to share between threads and tasks."""

    @property
    def name(self) -> str:
        """Names the model and its version. Vectors of two names must never be compared."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """A row of DIMENSIONS a text, of length one; all zeros for a text without words. Raises EmbeddingFailed."""


def unit(rows: Vectors) -> Vectors:
    """The rows at length one; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows, dtype=np.float32), where=lengths > 0)
    return scaled


def fitted(rows: Vectors) -> Vectors:
    """The rows cut or padded with zeros to DIMENSIONS, then at length one. Padding leaves every cosine as it is."""
    kept = rows[:, :DIMENSIONS]
    return unit(np.pad(kept, ((0, 0), (0, DIMENSIONS - kept.shape[1]))).astype(np.float32))
