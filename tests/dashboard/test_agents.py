"""Agents in the dashboard: found, created, changed, paused and archived, and asked who could answer something."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard

READ = """query ($slug: String!) { agent(slug: $slug) {
  id version status name personality type runtime modelTier tools skills { name description } traits { humor formality }
} }"""
RENAME = """mutation ($id: ID!) { updateAgent(input: { agentId: $id, tagline: "Changed elsewhere" }) {
  ... on Refusal { message }
} }"""
REMEMBER = """mutation ($id: ID!) { remember(input: { agentId: $id, kind: PRIVATE, text: "Quotes are double" }) {
  ... on Refusal { message }
} }"""


async def test_an_agent_is_created_changed_paused_and_archived(dashboard: Dashboard) -> None:
    watcher = await dashboard.open_page(Role.ANALYST, "/agents")
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="New agent")).to_have_count(0)
    page = await dashboard.open_page(Role.INTEGRATOR, "/agents")

    await page.get_by_role("button", name="New agent").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name", exact=True).fill("Ada B. Lovelace")
    await form.get_by_label("Humor").fill("0.85")
    await form.get_by_role("button", name="Add a skill").click()
    await form.get_by_label("Skill 1", exact=True).fill("Origami")
    await form.get_by_label("What skill 1 covers").fill("Folds paper")
    await form.get_by_label("Tools").fill("fold, cut")
    await dashboard.accessible(page)
    await form.get_by_role("button", name="Create").click()

    await page.wait_for_url("**/#/agents/agent_*")
    await expect(watcher.get_by_role("link", name="Ada B. Lovelace")).to_be_visible()
    made = (await dashboard.run(READ, {"slug": "ada-b-lovelace"}))["agent"]
    assert (made["tools"], made["skills"]) == (["fold", "cut"], [{"name": "Origami", "description": "Folds paper"}])
    assert (made["traits"], made["modelTier"]) == ({"humor": 0.85, "formality": 0.5}, 1)

    await page.get_by_role("button", name="Edit").click()
    await dashboard.run(RENAME, {"id": made["id"]})
    await form.get_by_label("Personality").fill("Quiet")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_be_visible()
    await form.get_by_role("button", name="Close").click()
    await expect(page.get_by_text("Changed elsewhere").first).to_be_visible()
    await page.get_by_role("button", name="Edit").click()
    await form.get_by_label("Personality").fill("Quiet")
    await form.get_by_role("button", name="Save").click()
    await expect(page.locator(".about .prose")).to_have_text("Quiet")

    await page.get_by_role("button", name="Pause").click()
    await form.get_by_label("Why").fill("A holiday")
    await form.get_by_role("button", name="Pause").click()
    await expect(page.locator(".agent-state")).to_contain_text("it is paused")
    await expect(page.locator(".feed")).to_contain_text("was paused: A holiday")
    await expect(watcher.get_by_role("row", name="Ada B. Lovelace")).to_contain_text("Paused")
    await page.get_by_role("button", name="Archive").click()
    await form.get_by_role("button", name="Archive").click()
    await expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    await expect(watcher.get_by_role("link", name="Ada B. Lovelace")).to_have_count(0)
    assert (await dashboard.run(READ, {"slug": "ada-b-lovelace"}))["agent"]["status"] == "ARCHIVED"


async def test_agents_are_found_by_name_question_and_skill_and_forget_what_they_are_told_to(
    dashboard: Dashboard,
) -> None:
    page = await dashboard.open_page(Role.OPERATOR, "/agents", viewport=PHONE, dark=True)
    await page.get_by_label("Find").fill("luk")
    await expect(page.get_by_role("table", name="Agents").locator("tbody tr")).to_have_count(1)
    await page.get_by_label("Question").fill("Review this pull request for race conditions")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator(".who-found li").first).to_contain_text("Luke")
    await page.get_by_role("button", name="By skills").click()
    await page.get_by_label("Skills").fill("code review, juggling")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator(".who-found li").first).to_contain_text("no juggling")
    await dashboard.accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    luke = (await dashboard.run(READ, {"slug": "luke"}))["agent"]["id"]
    await page.get_by_role("link", name="Luke").first.click()
    await expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    await dashboard.live(page)
    await dashboard.run(REMEMBER, {"id": luke})
    await page.get_by_role("button", name="Forget: Quotes are double").click()
    await page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    await expect(page.get_by_text("Nothing of its own yet.")).to_be_visible()
    await dashboard.accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
