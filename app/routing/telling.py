"""What words tell about subjects: a sparse table from keys to weights over subjects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
DOUBT = 2.0  # as if each key had been met that often elsewhere: what is seen once tells less than what is seen often


@dataclass(frozen=True)
class Telling:
    """`keys` are sorted; those of place `n` have the entries from `starts[n]` to `starts[n + 1]`."""

    keys: NDArray[np.int64]
    starts: NDArray[np.intp]
    subjects: NDArray[np.intp]
    weights: Floats

    def add_to(self, total: Floats, found: Iterable[tuple[int, float]]) -> None:
        """Adds what each key tells, times its weight. Keys that are not known tell nothing."""
        pairs = list(found)
        if not pairs or not len(self.keys):
            return
        wanted = np.array([key for key, _ in pairs], dtype=np.int64)
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        for (_, weight), place, known in zip(pairs, places, self.keys[places] == wanted, strict=True):
            if known:
                entries = slice(self.starts[place], self.starts[place + 1])
                total[self.subjects[entries]] += self.weights[entries] * np.float32(weight)


def told(keys: NDArray[np.int64], subjects: NDArray[np.intp], amounts: NDArray[np.float64], count: int) -> Telling:
    """From how much each key was met with each of `count` subjects. A key of one subject tells more than one of ten."""
    cells, inverse = np.unique(keys * count + subjects, return_inverse=True)
    met = np.bincount(inverse, weights=amounts)
    own, first = np.unique(cells // count, return_index=True)
    sizes = np.diff(np.append(first, len(cells)))
    shares = met / np.repeat(np.add.reduceat(met, first) + DOUBT, sizes)
    lengths = np.sqrt(np.add.reduceat(shares * shares, first))
    strengths = np.sqrt(np.maximum.reduceat(shares, first))
    weights = (shares * np.repeat(strengths / lengths, sizes)).astype(np.float32)
    return Telling(own, np.append(first, len(cells)), (cells % count).astype(np.intp), weights)
