"""A key signs in for as long as the tab lives; one that does not work, or no longer, is told so."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import Dashboard

REVOKE = "mutation ($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { ... on Refusal { message } } }"


async def test_signing_in_and_out(dashboard: Dashboard) -> None:
    dashboard.expected.append("401")
    page = await dashboard.open_page(role=None, path="/tasks")
    await dashboard.accessible(page)

    await page.get_by_label("API key").fill("parley_wrong_key_0123456789")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("API key").fill(dashboard.team.secrets[Role.ANALYST])
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    assert await page.evaluate("Object.keys(localStorage).length") == 0
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("API key")).to_be_visible()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_a_revoked_key_is_signed_out_at_once(dashboard: Dashboard) -> None:
    dashboard.expected.append("401")
    page = await dashboard.open_page(Role.ANALYST)
    await dashboard.live(page)

    await dashboard.run(REVOKE, {"id": dashboard.team.key_id(Role.ANALYST)})

    await expect(page.get_by_role("alert")).to_contain_text("no longer works")


async def test_an_agents_key_sees_what_it_may_and_nothing_follows_it(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.AGENT)

    await expect(page.get_by_role("article", name="Luke")).to_be_visible()
    await expect(page.locator(".feed")).to_have_count(0)
