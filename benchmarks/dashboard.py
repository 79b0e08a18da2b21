"""The dashboard in a real Chromium: frames while a large session goes on, and memory under a busy feed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from playwright.sync_api import CDPSession, Page, expect, sync_playwright

from benchmarks.helper import Helper
from benchmarks.stage import Server, Stage, python

RATE = 200.0
SPANS = 2_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc"]
PATIENCE_MS = 60_000
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# By the clock, not by the time that a frame is given: that one is planned. The lanes are drawn anew where their canvas
# is cleared; a browser calls tasks of 50 ms and more long.
FRAMES = """() => {
  const gaps = [], long = [];
  let [last, on, drawn] = [performance.now(), true, 0];
  const tick = () => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
    if (on) requestAnimationFrame(tick);
  };
  const clear = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    drawn += this.canvas.getAttribute("role") === "application";
    return clear.apply(this, area);
  };
  const timing = new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => one.duration)));
  timing.observe({ type: "longtask" });
  requestAnimationFrame(tick);
  window.stopFrames = () => { on = false; return { gaps: gaps.slice(1), drawn, long }; };
}"""


@dataclass(frozen=True)
class Size:
    session_s: int
    feed_s: int


QUICK = Size(session_s=5, feed_s=10)
NORMAL = Size(session_s=20, feed_s=60)


def is_possible() -> bool:
    return _chromium() is not None


def measure(stage: Stage, size: Size) -> dict[str, Any]:
    server = stage.serve("dashboard", python("app.cli", "serve"))
    try:
        with _page(stage, server) as page:
            return {
                "rate": RATE,
                "spans": SPANS,
                **_session(stage, server, page, size),
                **_feed(stage, server, page, size),
            }
    finally:
        stage.stop(server)


def _session(stage: Stage, server: Server, page: Page, size: Size) -> dict[str, Any]:
    feed = Helper(stage, "benchmarks.session_feed")
    try:
        session = feed.ask(seed=SPANS)["session"]
        page.goto(f"http://127.0.0.1:{server.port}/#/sessions/{session}")
        expect(page.locator(".timeline .card-subtitle")).to_contain_text(f"20 agents, {SPANS:,} spans")
        page.wait_for_selector(".connection[data-state=live]")
        page.evaluate(FRAMES)
        feed.order(go=int(size.session_s * RATE), rate=RATE)
        page.wait_for_timeout(size.session_s * 1000)
        seen = page.evaluate("stopFrames()")
        kept = feed.answer()["rate"]
    finally:
        feed.stop()
    frames = seen["gaps"]
    cuts = quantiles(frames, n=100)
    return {"session_s": size.session_s, "session_rate": kept, "frames": len(frames), "drawings": seen["drawn"],
            "frame_p50_ms": cuts[49], "frame_p95_ms": cuts[94], "frame_max_ms": max(frames),
            "long_tasks": len(seen["long"]), "task_max_ms": max(seen["long"], default=0.0)}  # fmt: skip


def _feed(stage: Stage, server: Server, page: Page, size: Size) -> dict[str, Any]:
    """Memory after a garbage collection: when a sixth of the events have come, and when all have."""
    writer = Helper(stage, "benchmarks.writer")
    try:
        page.goto(f"http://127.0.0.1:{server.port}/#/")
        page.wait_for_selector(".page-overview")
        page.wait_for_selector(".connection[data-state=live]")
        devtools = page.context.new_cdp_session(page)
        heaps, kept = [], []
        for share in (1, 5):
            events, started = int(size.feed_s * RATE * share / 6), time.perf_counter()
            writer.ask(events=events, rate=RATE)
            kept.append(events / (time.perf_counter() - started))
            page.wait_for_timeout(1000)
            heaps.append(_memory(devtools))
    finally:
        writer.stop()
    shown = page.locator(".feed li").count()
    return {"feed_s": size.feed_s, "feed_rate": min(kept), "feed_shown": shown,
            "heap_from_mb": heaps[0]["mb"], "heap_to_mb": heaps[1]["mb"],
            "nodes_from": heaps[0]["nodes"], "nodes_to": heaps[1]["nodes"]}  # fmt: skip


def _memory(devtools: CDPSession) -> dict[str, Any]:
    devtools.send("HeapProfiler.collectGarbage")
    used = devtools.send("Runtime.getHeapUsage")["usedSize"]
    return {"mb": used / 1e6, "nodes": devtools.send("Memory.getDOMCounters")["nodes"]}


@contextmanager
def _page(stage: Stage, server: Server) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        context = browser.new_context(viewport={"width": 1360, "height": 900})
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        context.add_init_script(f"sessionStorage.setItem('parley.key', '{stage.seeded.secret}')")
        try:
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.port}/")
            page.wait_for_selector(".page-overview")
            yield page
        finally:
            browser.close()


def _chromium() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)
