"""Discovery is tested on the indexes of routing."""

from tests.app.routing.conftest import calibration, embedder, indexed

__all__ = ["calibration", "embedder", "indexed"]
