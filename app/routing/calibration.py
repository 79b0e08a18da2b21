"""Makes cosines of different embedders comparable: each is counted from what two unrelated texts have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.embeddings.embedder import Vectors


@dataclass(frozen=True)
class Calibration:
    """Mean and spread of the cosine of two texts about different subjects, under one embedder."""

    embedder: str
    mean: float
    spread: float


def calibrate(embedder: str, background: Vectors) -> Calibration:
    """From the vectors of `topics().background`: texts of which no two are about the same."""
    cosines = background @ background.T
    apart = cosines[~np.eye(len(background), dtype=bool)]
    return Calibration(embedder, round(float(apart.mean()), 4), max(round(float(apart.std()), 4), 1e-4))
