"""The dashboard in a real Chromium: frames while a large session runs, and memory under a busy event feed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from playwright.sync_api import CDPSession, Page, expect, sync_playwright

from benchmarks.needs import BROWSER, find_chromium
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import Server, python
from benchmarks.testbed import Testbed

RATE = 200.0
SPANS = 2_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc"]
TIMEOUT_MS = 60_000
# Frames are timed by the clock: the timestamp that the browser passes to a frame is the planned one. A redraw of the
# lanes is counted when their canvas is cleared. Browsers define a long task as one of 50 ms or more.
FRAMES = """() => {
  const gaps = [], long = [];
  let [last, running, drawn] = [performance.now(), true, 0];
  const tick = () => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
    if (running) requestAnimationFrame(tick);
  };
  const clear = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    drawn += this.canvas.getAttribute("role") === "application";
    return clear.apply(this, area);
  };
  const timing = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
  timing.observe({ type: "longtask" });
  requestAnimationFrame(tick);
  window.stopFrames = () => { running = false; return { gaps: gaps.slice(1), drawn, long }; };
}"""


@dataclass(frozen=True)
class Size:
    session_s: int
    feed_s: int


QUICK = Size(session_s=2, feed_s=3)
NORMAL = Size(session_s=20, feed_s=60)


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    with open_testbed() as testbed:
        server = testbed.start_server("dashboard", python("app.cli", "serve"))
        with _open_page(testbed, server) as page:
            session = _measure_session(testbed, server, page, size.session_s)
            feed = _measure_feed(testbed, server, page, size.feed_s)
    return {"rate": RATE, "spans": SPANS, **session, **feed}


def _measure_session(testbed: Testbed, server: Server, page: Page, seconds: int) -> dict[str, Any]:
    feed = testbed.start_child("benchmarks.session_feed")
    session = feed.call(seed=SPANS)["session"]
    page.goto(f"http://127.0.0.1:{server.port}/#/sessions/{session}")
    expect(page.locator(".timeline .card-subtitle")).to_contain_text(f"20 agents, {SPANS:,} spans")
    page.wait_for_selector(".connection[data-state=live]")
    page.evaluate(FRAMES)
    feed.send(advance=int(seconds * RATE), rate=RATE)
    page.wait_for_timeout(seconds * 1000)
    report = page.evaluate("stopFrames()")
    rate = feed.receive()["rate"]
    testbed.stop(feed)
    gaps, long_tasks = report["gaps"], report["long"]
    percentiles = quantiles(gaps, n=100)
    return {"session_s": seconds, "session_rate": rate, "frames": len(gaps), "drawings": report["drawn"],
            "frame_p50_ms": percentiles[49], "frame_p95_ms": percentiles[94], "frame_max_ms": max(gaps),
            "long_tasks": len(long_tasks), "task_max_ms": max(long_tasks, default=0.0)}  # fmt: skip


def _measure_feed(testbed: Testbed, server: Server, page: Page, seconds: int) -> dict[str, Any]:
    """Returns the memory after a garbage collection: after a sixth of the events, and after all of them."""
    writer = testbed.start_child("benchmarks.writer")
    writer.call(events=0)  # waits until it has started
    page.goto(f"http://127.0.0.1:{server.port}/#/")
    page.wait_for_selector(".page-overview")
    page.wait_for_selector(".connection[data-state=live]")
    devtools = page.context.new_cdp_session(page)
    heaps, rates = [], []
    for sixths in (1, 5):
        events, started = int(seconds * RATE * sixths / 6), time.perf_counter()
        writer.call(events=events, rate=RATE)
        rates.append(events / (time.perf_counter() - started))
        page.wait_for_timeout(1000)
        heaps.append(_heap(devtools))
    testbed.stop(writer)
    return {"feed_s": seconds, "feed_rate": min(rates), "feed_shown": page.locator(".feed li").count(),
            "heap_from_mb": heaps[0]["mb"], "heap_to_mb": heaps[1]["mb"],
            "nodes_from": heaps[0]["nodes"], "nodes_to": heaps[1]["nodes"]}  # fmt: skip


def _heap(devtools: CDPSession) -> dict[str, Any]:
    devtools.send("HeapProfiler.collectGarbage")
    used_bytes = devtools.send("Runtime.getHeapUsage")["usedSize"]
    return {"mb": used_bytes / 1e6, "nodes": devtools.send("Memory.getDOMCounters")["nodes"]}


@contextmanager
def _open_page(testbed: Testbed, server: Server) -> Iterator[Page]:
    """Opens the dashboard's overview, signed in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        context = browser.new_context(viewport={"width": 1360, "height": 900})
        context.set_default_timeout(TIMEOUT_MS)
        expect.set_options(timeout=TIMEOUT_MS)
        context.add_init_script(f"sessionStorage.setItem('parley.key', '{testbed.seed.secret}')")
        try:
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.port}/")
            page.wait_for_selector(".page-overview")
            yield page
        finally:
            browser.close()


def table(figures: Figures) -> str:
    return "\n".join(
        [
            f"Dashboard: {figures['spans']:,} spans in 20 lanes, {figures['session_rate']:.0f} events per second for "
            f"{figures['session_s']} s",
            f"frames                  {figures['frames']}; p50 {figures['frame_p50_ms']:.1f}, "
            f"p95 {figures['frame_p95_ms']:.1f}, longest {figures['frame_max_ms']:.0f} ms",
            f"lanes redrawn           {figures['drawings']} times",
            f"tasks of 50 ms or more  {figures['long_tasks']}, longest {figures['task_max_ms']:.0f} ms",
            f"Event feed: {figures['feed_rate']:.0f} events per second for {figures['feed_s']} s, "
            f"{figures['feed_shown']} shown",
            f"heap                    {figures['heap_from_mb']:.1f} MB after a sixth of the events, "
            f"{figures['heap_to_mb']:.1f} MB at the end",
            f"DOM nodes               {figures['nodes_from']:,} after a sixth of the events, "
            f"{figures['nodes_to']:,} at the end",
        ]
    )


PART = Part("dashboard", measure, table, needs=(BROWSER,))
