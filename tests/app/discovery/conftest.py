"""Discovery is tested on the indexes of routing."""

from tests.app.routing.conftest import board, calibration, embedder, indexed

__all__ = ["board", "calibration", "embedder", "indexed"]
