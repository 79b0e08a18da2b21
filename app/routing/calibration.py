"""Makes cosines of different embedders comparable: each is counted from what two unrelated texts have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.embeddings.embedder import Vectors
from app.routing.performance import SIMILAR

SPREADS_OF_SIMILAR = 5.0  # under the default embedder different needs stay below 2.5, a need's rephrasing has about 7
HIGHEST_OF_SIMILAR = 0.9  # cosine


@dataclass(frozen=True)
class Calibration:
    """Mean and spread of the cosine of two texts about different subjects, under one embedder."""

    embedder: str
    mean: float
    spread: float


def calibrate(embedder: str, background: Vectors) -> Calibration:
    """From the vectors of `lexicon().background`: texts of which no two are about the same."""
    cosines = background @ background.T
    apart = cosines[~np.eye(len(background), dtype=bool)]
    return Calibration(embedder, round(float(apart.mean()), 4), max(round(float(apart.std()), 4), 1e-4))


def cosine_of_similar(calibration: Calibration) -> float:
    """The cosine above which two texts ask for the same: as far from unrelated ones as a rephrasing is."""
    return min(calibration.mean + SPREADS_OF_SIMILAR * calibration.spread, HIGHEST_OF_SIMILAR)


def similarity(calibration: Calibration, cosine: float) -> float:
    """The cosine on the scale of `performance.SIMILAR`: 0 for unrelated texts, SIMILAR where the same is asked, 1 for
    the same text. Requirement and rule speak of 0.8, which is a large model's cosine and not every embedder's."""
    similar = cosine_of_similar(calibration)
    if cosine <= similar:
        return max(SIMILAR * (cosine - calibration.mean) / (similar - calibration.mean), 0.0)
    return min(SIMILAR + (1 - SIMILAR) * (cosine - similar) / (1 - similar), 1.0)
