"""The parts of `make bench`, in the order in which they run. A new part is one module here and one line below."""

from __future__ import annotations

from benchmarks.part import Part
from benchmarks.parts import analytics, dashboard, fanout, reads, route, routing, simulate, tasks

PARTS: tuple[Part, ...] = (
    routing.PART,
    reads.PART,
    fanout.PART,
    tasks.PART,
    route.PART,
    analytics.PART,
    simulate.PART,
    dashboard.PART,
)
