"""What words tell about subjects: a sparse table from keys to weights over subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    subjects: NDArray[np.int16]
    weights: Floats
    count: int  # of subjects

    def of(self, found: Mapping[int, float]) -> Floats:
        """What keys tell together, each by its weight. Keys that are not known tell nothing."""
        wanted = np.fromiter(found, np.int64, len(found))
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        known = self.keys[places] == wanted
        places = places[known]
        starts = self.starts[places]
        sizes = self.starts[places + 1] - starts
        entries = np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        weights = np.repeat(np.fromiter(found.values(), np.float64, len(found))[known], sizes)
        told = np.bincount(self.subjects[entries], self.weights[entries] * weights, self.count)
        return told.astype(np.float32)


@dataclass(frozen=True)
class Met:
    """How much each key was met with one subject."""

    keys: NDArray[np.int64]
    amounts: Floats

    @classmethod
    def of(cls, amounts: Mapping[int, float]) -> Met:
        return cls(
            np.fromiter(amounts, np.int64, len(amounts)), np.fromiter(amounts.values(), np.float32, len(amounts))
        )


def told(met: Sequence[Met]) -> Telling:
    """From what was met with each subject. A key of one subject tells more than one of ten."""
    keys = np.concatenate([each.keys for each in met])
    amounts = np.concatenate([each.amounts for each in met])
    subjects = np.repeat(np.arange(len(met), dtype=np.int16), [len(each.keys) for each in met])
    order = np.argsort(keys, kind="stable")
    amounts = amounts[order]
    own, starts, sizes = np.unique(keys[order], return_index=True, return_counts=True)
    shares = amounts / np.repeat(np.add.reduceat(amounts, starts) + DOUBT, sizes)
    lengths = np.sqrt(np.add.reduceat(shares * shares, starts))
    strengths = np.sqrt(np.maximum.reduceat(shares, starts))
    weights = (shares * np.repeat(strengths / lengths, sizes)).astype(np.float32)
    return Telling(own, np.append(starts, len(keys)), subjects[order], weights, len(met))
