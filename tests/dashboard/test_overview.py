"""The overview shows what the team does, live, and lets people step in as far as their key allows."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ASK = "mutation ($input: AskPersonInput!) { askPerson(input: $input) { ... on Refusal { message } } }"


async def test_a_sample_session_starts_with_one_click_and_is_seen_in_another_window(dashboard: Dashboard) -> None:
    watcher = await dashboard.open_page(Role.ANALYST)
    await dashboard.live(watcher)
    page = await dashboard.open_page(Role.ADMIN)
    await dashboard.live(page)

    await page.get_by_role("button", name="Delegation").click()

    await page.wait_for_url("**/#/sessions/collab_*")
    await expect(watcher.get_by_role("link", name="Plan a dinner for twelve").first).to_be_visible()
    await expect(watcher.locator(".feed")).to_contain_text("completed the session", timeout=40_000)


async def test_pausing_an_agent_shows_in_both_windows_and_an_analyst_is_offered_none(dashboard: Dashboard) -> None:
    analyst = await dashboard.open_page(Role.ANALYST)
    operator = await dashboard.open_page(Role.OPERATOR)
    await dashboard.live(analyst)
    await expect(analyst.get_by_role("button", name="Pause Luke")).to_have_count(0)
    await expect(analyst.get_by_role("button", name="Pipeline")).to_have_count(0)

    await operator.get_by_role("button", name="Pause Luke").click()

    for page in (operator, analyst):
        await expect(page.get_by_role("article", name="Luke")).to_contain_text("Paused")
    await expect(operator.get_by_role("button", name="Resume Luke")).to_be_visible()
    await expect(analyst.locator(".feed li", has_text="was paused")).to_have_count(1)


async def test_what_agents_write_is_shown_and_never_run(dashboard: Dashboard) -> None:
    await dashboard.run(ASK, {"input": {"question": HOSTILE, "options": ["yes", "no"]}})

    page = await dashboard.open_page(Role.OPERATOR)

    await expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    assert await page.locator("main img").count() == 0
    await expect(page.locator(".sidebar .nav-count")).to_contain_text("1")


async def test_it_is_accessible_and_fits_a_phone(dashboard: Dashboard) -> None:
    await dashboard.run(ASK, {"input": {"question": "Shall we?"}})

    for dark in (False, True):
        page = await dashboard.open_page(Role.ADMIN, dark=dark)
        await dashboard.live(page)
        await dashboard.accessible(page)
    phone = await dashboard.open_page(Role.ADMIN, viewport=PHONE)
    await dashboard.live(phone)
    assert await phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    await phone.get_by_role("button", name="More").click()
    await expect(phone.get_by_role("dialog").get_by_role("link", name="Routing")).to_be_visible()
    await dashboard.accessible(phone)
