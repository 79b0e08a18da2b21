"""`make screenshots`: pictures of every page of the dashboard, light and dark, on a desktop and a phone.

Starts what `make run` starts, on a folder that vanishes afterwards, runs the sample sessions by their buttons, makes
something of everything by the API, and opens each page that the dashboard registers. Git ignores the pictures but for
those that the documentation shows.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from tests.dashboard.demo import Demo
from tests.fixtures.browser import CHROMIUM, FLAGS
from tests.fixtures.commands import ROOT
from tests.fixtures.installation import free_port

FOLDER = ROOT / "docs" / "screenshots"
KEY = "parley_demo_of_the_dashboard"
SIZES = {"desktop": ViewportSize(width=1280, height=860), "phone": ViewportSize(width=390, height=844)}
SAMPLES = ("Supervisor and workers", "Pipeline", "Peer review", "Brainstorm", "Consensus", "Delegation")
OPEN = ("PLANNING", "ACTIVE", "SYNTHESIZING")
START_PATIENCE_S = 120
MOST_HEIGHT = 2400


def main() -> None:
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("only", nargs="*", default=[""], help="only pictures whose name contains one of these")
    only = parser.parse_args().only
    FOLDER.mkdir(exist_ok=True)
    with installation() as url:
        asyncio.run(shoot(url, only))


async def shoot(url: str, only: list[str]) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        async with httpx.AsyncClient(base_url=url, timeout=60, headers={"Authorization": f"Bearer {KEY}"}) as client:
            demo = Demo(client)
            await demo.make()
            sessions = await run_samples(browser, url, demo)
            sessions["running"] = await demo.watch()
            await take_all(browser, url, demo, sessions, only)


@contextmanager
def installation() -> Iterator[str]:
    """What `make run` starts; answers its address."""
    folder, port = Path(tempfile.mkdtemp(prefix="parley-pictures-")), free_port()
    given = {"PARLEY_DATA_DIR": str(folder), "PARLEY_PORT": str(port), "PARLEY_DEMO_KEY": KEY}
    given["PARLEY_RATE_LIMIT_POINTS"] = "10000000"  # pages are opened faster than people do
    with (folder / "dev.log").open("wb") as log:
        program = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "dev"], cwd=ROOT, env=os.environ | given, stdout=log, stderr=log
        )
    try:
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_PATIENCE_S
        while not _is_ready(url):
            assert time.monotonic() < deadline, (folder / "dev.log").read_text()[-2000:]
            time.sleep(0.2)
        yield url
    finally:
        program.terminate()
        program.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


async def window(
    browser: Browser, url: str, *, size: str = "desktop", dark: bool = False, signed_in: bool = True
) -> Page:
    context = await browser.new_context(viewport=SIZES[size], color_scheme="dark" if dark else "light")
    if signed_in:
        await context.add_init_script(f"sessionStorage.setItem('parley.key', '{KEY}')")
    page = await context.new_page()
    await page.goto(f"{url}/")
    await page.wait_for_selector("main .page, main .empty, .sign-in-card")
    return page


async def run_samples(browser: Browser, url: str, demo: Demo) -> dict[str, str]:
    """Each by its button, to its end; answers the sessions by their pattern."""
    page = await window(browser, url)
    for name in SAMPLES:
        await page.goto(f"{url}/#/sessions")
        await page.locator(".sample", has_text=name).click()
        await page.wait_for_url("**/#/sessions/collab_*")
    await page.context.close()
    query = "{ collaborationSessions(first: 20) { nodes { id pattern status } } }"
    found = await demo.until(
        query, lambda data: all(one["status"] not in OPEN for one in data["collaborationSessions"]["nodes"])
    )
    return {one["pattern"].lower(): one["id"] for one in found["collaborationSessions"]["nodes"]}


async def take_all(browser: Browser, url: str, demo: Demo, sessions: dict[str, str], only: list[str]) -> None:
    for size in SIZES:
        for dark in (False, True):
            stranger = await window(browser, url, size=size, dark=dark, signed_in=False)
            await take(stranger, f"sign_in-{size}-{'dark' if dark else 'light'}", only)
            page = await window(browser, url, size=size, dark=dark)
            for name, path in (await places(page, demo, sessions)).items():
                full = f"{name}-{size}-{'dark' if dark else 'light'}"
                if not any(part in full for part in only):
                    continue
                await page.goto(f"{url}/#{path}")
                await page.wait_for_selector("main .page, main .empty")
                await page.wait_for_selector(".connection[data-state=live], .connection[data-state=idle]")
                await page.wait_for_selector("main .skeleton", state="detached")
                await take(page, full, only)
            await stranger.context.close()
            await page.context.close()


async def places(page: Page, demo: Demo, sessions: dict[str, str]) -> dict[str, str]:
    """Names of pictures and what they show: all pages that the dashboard registers, and a session of each pattern."""
    script = "document.querySelector('script[type=module]').src.replace('main.js', 'pages.js')"
    listed = await page.evaluate(
        f"import({script}).then(({{ pages }}) => pages.map(({{ name, path }}) => [name, path]))"
    )
    found = {f"session_{pattern}": f"/sessions/{known}" for pattern, known in sessions.items()}
    for name, path in listed:
        if ":id" not in path:
            found[name] = path
        elif path in demo.ids:
            found[name] = path.replace(":id", demo.ids[path])
    return found


async def take(page: Page, name: str, only: list[str]) -> None:
    if not any(part in name for part in only):
        return
    size = page.viewport_size
    assert size is not None
    whole = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size(
        {**size, "height": min(max(whole, size["height"]), MOST_HEIGHT)}
    )  # bars keep their edge
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    await page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")
    await page.set_viewport_size(size)
    sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
