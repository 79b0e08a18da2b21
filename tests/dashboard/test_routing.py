"""Routing in the dashboard: decisions are found and followed, explained and overruled; another policy is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard

HOSTILE = "Review this <img src=x onerror=alert(1)> pull request for bugs and race conditions"
COMMENT = "Too <img src=x onerror=alert(1)> salty"
MENU = "Plan the menu of a vegan dinner with three recipes"
ROUTE = """mutation ($text: String!) { routeMessage(input: { text: $text }) {
  ... on RoutingDecisionPayload { routingDecision { id selectedAgent { name } } } ... on Refusal { message }
} }"""
READ = """query ($id: ID!) { routingDecision(id: $id) { rating overrides { nodes { reason agent { name } } } } }"""


async def _route(dashboard: Dashboard, text: str) -> Any:
    return (await dashboard.run(ROUTE, {"text": text}))["routeMessage"]["routingDecision"]


async def test_decisions_are_filtered_by_the_address_followed_and_taken_away(dashboard: Dashboard) -> None:
    await _route(dashboard, HOSTILE)
    await _route(dashboard, MENU)
    page = await dashboard.open_page(Role.ANALYST, "/routing")
    await dashboard.live(page)
    rows = page.get_by_role("table", name="Routing decisions").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(page.get_by_role("img", name="First choices of each agent, by day")).to_be_visible()
    await expect(page.get_by_text(HOSTILE)).to_be_visible()
    assert await page.locator("main img").count() == 0
    await dashboard.accessible(page)

    await page.get_by_label("Words of the message").fill("menu vegan")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    assert "words=menu+vegan" in page.url
    await page.get_by_text("More filters").click()
    await page.get_by_label("Confidence from").fill("2")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("A number from 0 to 1.")).to_be_visible()
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name="Clear").click()
    await expect(rows).to_have_count(2)

    await _route(dashboard, "Is this A/B test significant?")
    await expect(rows).to_have_count(3)
    await expect(rows.first).to_contain_text("Is this A/B test significant?")

    await page.get_by_role("button", name="Take away").click()
    await expect(page.get_by_label("GraphQL query")).to_contain_text('createdAt: { gte: "-P7D" }')
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Save as CSV").click()
    saved = await asyncio.to_thread(Path(await (await saving.value).path()).read_text, encoding="utf-8")
    assert saved.splitlines()[0].startswith("id,createdAt,query,mode,reason")
    assert len(saved.splitlines()) == 4


async def test_a_decision_is_explained_overruled_and_rated(dashboard: Dashboard) -> None:
    decision = await _route(dashboard, MENU)
    other = "Luke" if decision["selectedAgent"]["name"] != "Luke" else "Ada"
    path = f"/routing/{decision['id']}"
    analyst = await dashboard.open_page(Role.ANALYST, path, viewport=PHONE, dark=True)
    await dashboard.live(analyst)
    await expect(analyst.get_by_role("button", name="Override")).to_have_count(0)
    await expect(analyst.get_by_role("button", name="Rate")).to_have_count(0)
    page = await dashboard.open_page(Role.OPERATOR, path)

    await page.get_by_role("button", name=f"Why not {other}?").click()
    await expect(page.locator(".why-not .answer")).to_contain_text(f"{other} came in place")
    await expect(page.locator(".why-not tbody tr")).to_have_count(4)
    await dashboard.accessible(page)
    await page.get_by_role("button", name="Override").click()
    await page.get_by_role("dialog").get_by_label("Agent").select_option(other)
    await page.get_by_label("Why", exact=True).fill("It knows the guests")
    await page.get_by_role("dialog").get_by_role("button", name="Override").click()
    await expect(analyst.locator(".notice", has_text="It knows the guests")).to_be_visible()
    await page.get_by_role("button", name="Rate").click()
    await page.get_by_role("radio", name="Poor").check()
    await page.get_by_label("Comment").fill(COMMENT)
    await page.get_by_role("dialog").get_by_role("button", name="Rate").click()

    await expect(analyst.locator(".facts", has_text="2.0 of 5")).to_be_visible()
    ratings = analyst.get_by_role("list", name="Ratings").get_by_role("listitem")
    await expect(ratings).to_have_count(2)
    await expect(ratings.filter(has_text=COMMENT)).to_contain_text("2 of 5")
    await expect(ratings.filter(has_text=other)).to_contain_text("It knows the guests")
    assert await analyst.locator("main img").count() == 0
    read = (await dashboard.run(READ, {"id": decision["id"]}))["routingDecision"]
    assert read == {
        "rating": 0.25, "overrides": {"nodes": [{"reason": "It knows the guests", "agent": {"name": other}}]},
    }  # fmt: skip
    assert await analyst.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await dashboard.accessible(analyst)


async def test_another_policy_is_simulated_and_used(dashboard: Dashboard) -> None:
    empty = await dashboard.open_page(Role.ANALYST, "/simulate")
    await expect(empty.get_by_text("Nothing to replay yet")).to_be_visible()
    decision = await _route(dashboard, MENU)
    page = await dashboard.open_page(Role.ADMIN, "/simulate")
    await expect(page.get_by_text("1 decision replayed")).to_be_visible()
    await expect(page.get_by_role("button", name="Use these settings")).to_have_count(0)

    await page.get_by_label("Skill match").fill("0.1")
    await expect(page.locator("[name=weight-loadBalance]")).not_to_have_value("0.15")
    weights = [float(await page.locator(f"[name=weight-{name}]").input_value()) for name in _WEIGHTS]
    assert round(sum(weights), 6) == 1
    await page.evaluate(_TWO_AT_ONCE)
    await expect(page.get_by_role("link", name=MENU)).to_have_attribute("href", f"#/routing/{decision['id']}")
    await dashboard.accessible(page)
    await page.get_by_role("button", name="Use these settings").click()
    await page.get_by_label("Why", exact=True).fill("A trial")
    await page.get_by_role("button", name="Make version 2").click()

    await expect(page.get_by_role("button", name="Use these settings")).to_have_count(0)
    used = await dashboard.run("{ routingPolicy { version note threshold skillFloor weights { skillMatch } } }")
    now = {"version": 2, "note": "A trial", "threshold": 1, "skillFloor": 1, "weights": {"skillMatch": 0.1}}
    assert used == {"routingPolicy": now}
    await page.goto(f"{dashboard.server.url}/#/team?tab=policy")
    await page.get_by_role("button", name="Use version 1 again").click()
    await page.get_by_role("button", name="Make version 3").click()
    await expect(page.locator(".policy", has_text="Counts now")).to_contain_text("Version 3")
    await dashboard.accessible(page)
    await empty.reload()
    await expect(empty.get_by_text("1 decision replayed")).to_be_visible()
    await empty.get_by_label("Threshold").fill("0.2")
    await expect(empty.get_by_text("0.20 was 0.60")).to_be_visible()
    await expect(empty.get_by_role("button", name="Use these settings")).to_have_count(0)


_TWO_AT_ONCE = """() => ["threshold", "skillFloor"].forEach((name) => {
  const slider = document.querySelector(`[name=${name}]`);
  slider.value = 1;
  for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind, { bubbles: true }));
})"""  # before the page is drawn again
_WEIGHTS = ("skillMatch", "pastPerformance", "personalityFit", "loadBalance")
