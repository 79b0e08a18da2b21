"""The team's settings in the dashboard: each is changed, read back past the browser, and seen in another window."""

from __future__ import annotations

import re

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard

RULES = """{ team { handoffRules(first: 100, where: { retiredAt: { isNull: true } }) {
  nodes { condition priority version toAgent { slug } } } } }"""
SETTINGS = """{ team { dayBudgetUsd monthBudgetUsd messagePolicy contextVariables featureFlags { flag enabled } }
  groups(first: 10, where: { dissolvedAt: { isNull: true } }) { nodes { slug agents { nodes { slug } } } } }"""
UNCOVERED_MS = 2_000  # a notice goes after four seconds: what it covers cannot be pressed before
CONDITION = "the cake is baked and test_coverage >= 90"


async def test_rules_are_written_corrected_tried_and_deleted(dashboard: Dashboard) -> None:
    watcher = await dashboard.open_page(Role.ANALYST, "/team")
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="New rule")).to_have_count(0)
    await expect(watcher.get_by_role("button", name="API keys")).to_have_count(0)
    page = await dashboard.open_page(Role.ADMIN, "/team")
    form = page.get_by_role("dialog")

    await page.get_by_role("button", name="New rule").click()
    await form.get_by_label("hand over to").select_option("Chef")
    await form.get_by_label("Priority").fill("50")
    await form.get_by_label("if").fill("the cake is baked and test_covrage >= 90")
    await form.get_by_role("button", name="Save").click()
    await expect(form.locator("mark")).to_have_text("test_covrage")
    await dashboard.accessible(page)
    await form.get_by_label("if").fill(CONDITION)
    await form.get_by_label("Trust values in replies").check()
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    await expect(watcher.get_by_text(CONDITION)).to_be_visible()
    made = [rule for rule in (await dashboard.run(RULES))["team"]["handoffRules"]["nodes"] if rule["priority"] == 50]
    assert made == [{"condition": CONDITION, "priority": 50, "version": 1, "toAgent": {"slug": "chef"}}]

    await watcher.get_by_label("Agent", exact=True).select_option("Luke")
    await watcher.get_by_label("Reply").fill("The cake is baked.\ntest_coverage: 95")
    await watcher.get_by_role("button", name="Try").click()
    fired = watcher.locator(".trial-rule.is-fired")
    await expect(fired).to_contain_text(CONDITION)
    await expect(fired.locator(".clauses li")).to_have_count(2)
    await expect(fired).to_contain_text("95 >= 90")
    await watcher.get_by_label("Variables").fill("[1]")
    await watcher.get_by_role("button", name="Try").click()
    await expect(watcher.get_by_text("This is no JSON object.")).to_be_visible()
    await dashboard.accessible(watcher)

    await page.get_by_role("button", name=f"Delete the rule {CONDITION}").click()
    await form.get_by_role("button", name="Delete").click()
    await expect(watcher.locator(".rule", has_text=CONDITION)).to_have_count(0)


async def test_variables_features_budgets_and_groups(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.ADMIN, "/team?tab=variables", viewport=PHONE, dark=True)
    form = page.get_by_role("dialog")
    await page.get_by_role("button", name="Edit: Values of the team").click()
    await form.get_by_role("button", name="Add a variable").click()
    await form.get_by_label("Name 5").fill("no good")
    await form.get_by_label("Value 5").fill("12")
    await form.get_by_role("button", name="Save").click()
    await expect(form.locator("ul.field-error")).to_be_visible()
    await form.get_by_label("Name 5").fill("max_guests")
    await form.get_by_role("button", name="Save").click()
    await expect(page.locator(".pairs").first).to_contain_text("max_guests")
    await dashboard.accessible(page)

    await page.get_by_role("button", name="Features").click()
    await page.get_by_role("switch", name="Several answers").click()
    await expect(page.get_by_role("switch", name="Several answers")).to_have_attribute("aria-checked", "true")
    await page.get_by_role("radio", name="Hub and spoke").check(timeout=UNCOVERED_MS)
    await expect(page.locator("#toasts")).to_contain_text("Messages: hub and spoke")
    await dashboard.accessible(page)

    await page.get_by_role("button", name="Budgets").click()
    await page.get_by_label("A day").fill("12.5")
    await page.get_by_role("button", name="Set", exact=True).click(timeout=UNCOVERED_MS)
    await expect(page.get_by_text("The team’s own cap: $12.50.")).to_be_visible()

    await page.get_by_role("button", name="Groups").click()
    await page.get_by_role("button", name="New group").click()
    await form.get_by_label("Name", exact=True).fill("Kitchen")
    await form.get_by_label("Short name").fill("kitchen")
    for name in ("Chef", "Kyra"):
        await form.get_by_label(name).check()
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Dissolve Kitchen")).to_be_visible()
    await dashboard.accessible(page)

    read = await dashboard.run(SETTINGS)
    flags = {state["flag"]: state["enabled"] for state in read["team"]["featureFlags"]}
    assert (flags["ENSEMBLE_MODE"], read["team"]["messagePolicy"]) == (True, "HUB_AND_SPOKE")
    assert read["team"]["contextVariables"]["max_guests"] == 12
    assert (float(read["team"]["dayBudgetUsd"]), read["team"]["monthBudgetUsd"]) == (12.5, None)
    assert [group["slug"] for group in read["groups"]["nodes"]] == ["kitchen"]
    assert {agent["slug"] for agent in read["groups"]["nodes"][0]["agents"]["nodes"]} == {"chef", "kyra"}
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


async def test_a_key_is_shown_once_and_revoked_and_the_file_tells_what_is_wrong(dashboard: Dashboard) -> None:
    dashboard.expected.append("401")
    page = await dashboard.open_page(Role.ADMIN, "/team?tab=keys")
    form = page.get_by_role("dialog")
    await page.get_by_role("button", name="New key").click()
    await form.get_by_label("What it is for").fill("notebook")
    await form.get_by_role("button", name="Create").click()
    secret = await page.get_by_label("The secret").inner_text()
    await dashboard.accessible(page)
    await page.get_by_role("button", name="I have it").click()
    await expect(page.get_by_text(secret)).to_have_count(0)
    user = await dashboard.open_page(None, "/team")
    await user.get_by_label("API key").fill(secret)
    await user.get_by_role("button", name="Sign in").click()
    await dashboard.live(user)
    await page.get_by_role("button", name="Revoke notebook").click()
    await form.get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("row", name="notebook")).to_contain_text("Revoked")
    await expect(user.get_by_role("alert")).to_contain_text("no longer works")

    await page.get_by_role("button", name="Team file").click()
    await page.get_by_role("button", name="Read the team").click()
    area = page.get_by_label("File", exact=True)
    await expect(area).to_have_value(re.compile("^version: 1"))
    await page.get_by_role("button", name="See what would change").click()
    await expect(page.get_by_text("The team is already as the file says.")).to_be_visible()
    await area.fill("name: Kitchen crew\nagents:\n  - name: Bo\n    model_tier: 9\n")
    await page.get_by_role("button", name="See what would change").click()
    await expect(page.locator(".file-problems")).to_contain_text("agents.0.model_tier")
    await page.get_by_role("button", name="Line 4").click()
    assert await page.evaluate("getSelection().toString()") == "    model_tier: 9"
    rules = "".join(f"  - {{ from_agent: any_agent, to_agent: bo, condition: dish {n} is done }}\n" for n in range(60))
    await area.fill(f"name: Kitchen crew\nagents:\n  - name: Bo\nhandoffs:\n{rules}")
    await page.get_by_role("button", name="Apply").click()
    await form.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("This was changed:")).to_be_visible()
    await dashboard.accessible(page)
    assert (await dashboard.run('{ team { name } agent(slug: "bo") { name } }')) == {
        "team": {"name": "Kitchen crew"}, "agent": {"name": "Bo"},
    }  # fmt: skip

    await page.get_by_role("button", name="Handoff rules").click()
    await expect(page.locator(".more")).to_contain_text("50 of 60 shown")
    await page.get_by_role("button", name="Load more").click()
    await expect(page.locator(".rule")).to_have_count(60)
    await page.get_by_role("button", name="Delete the rule dish 59 is done").click()
    await form.get_by_role("button", name="Delete").click()
    await expect(page.locator(".more")).to_contain_text("59 of 59 shown")
