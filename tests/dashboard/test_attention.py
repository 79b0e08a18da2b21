"""The queue of what needs a person, and the dead letters: each is closed once, and everybody sees by whom."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard
from tests.fixtures.deeds import delegate, do

CAP = "mutation { setTeamBudgets(input: { dayUsd: 10 }) { ... on Refusal { message } } }"

ITEM = "query ($id: ID!) { node(id: $id) { ... on AttentionItem { status option answer closedBy assignee } } }"


async def test_what_one_person_answers_the_other_is_told_with_who_it_was(dashboard: Dashboard) -> None:
    first = await dashboard.open_page(Role.ADMIN, "/attention")
    await dashboard.live(first)
    await expect(first.get_by_text("Nothing waits for you")).to_be_visible()
    asked = await do(
        dashboard, "askPerson", kind="APPROVAL", question="May we publish the prices?", context="Of two markets.",
        options=["approve", "reject"], deadlineSeconds=400, defaultAnswer="reject",
    )  # fmt: skip
    item = asked["attentionItem"]["id"]
    await first.get_by_role("link", name="May we publish the prices?").click()
    await expect(first.locator(".desk-open")).to_contain_text("If nobody answers“reject”")
    await expect(first.locator(".desk-open .is-near")).to_contain_text("min")
    second = await dashboard.open_page(Role.OPERATOR, f"/attention?item={item}")
    await dashboard.live(second)
    analyst = await dashboard.open_page(Role.ANALYST, f"/attention?item={item}", viewport=PHONE)
    await expect(analyst.locator(".desk-open")).to_contain_text("Of two markets.")
    await expect(analyst.get_by_role("button", name="Approve")).to_have_count(0)
    await dashboard.accessible(analyst)
    assert await analyst.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await second.get_by_role("button", name="Assign").click()
    await second.get_by_role("dialog").get_by_label("Person").fill("Mina")
    await second.get_by_role("dialog").get_by_role("button", name="Assign").click()
    await expect(first.locator(".desk-open .facts")).to_contain_text("Mina")
    await dashboard.accessible(first)
    await second.get_by_label("A note").fill("Without the second page.")
    await second.get_by_label("Your name").fill("Mina")
    await second.get_by_role("button", name="Approve").click()

    await expect(first.locator(".toast")).to_contain_text("Mina answered “May we publish the prices?”")
    await expect(second.locator(".toast", has_text="Answered")).to_be_visible()
    await expect(second.locator(".toast", has_text="Mina answered")).to_have_count(0)
    for page in (first, second, analyst):
        await expect(page.get_by_role("heading", name="Answered by Mina")).to_be_visible()
        await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        await expect(page.locator(".trail")).to_contain_text("Mina answered")
    node = (await dashboard.run(ITEM, {"id": item}))["node"]
    said = {"option": "approve", "answer": "Without the second page."}
    assert node == {"status": "ANSWERED", "closedBy": "Mina", "assignee": "Mina"} | said

    await dashboard.run(CAP)
    await delegate(dashboard, "luke", "Read it all.", budgetUsd=9)
    for page in (first, second):
        await page.get_by_role("link", name="The team's day is near its budget").click()
        await expect(page.get_by_role("button", name="Leave")).to_be_visible()
    await expect(second.get_by_role("button", name="Raise")).to_have_count(0)
    await first.get_by_label("New cap in US dollars").fill("5")
    await first.get_by_role("button", name="Raise").click()
    await expect(first.locator(".field-error, .form-trouble").first).to_contain_text("more than")
    await first.get_by_label("New cap in US dollars").fill("40")
    await first.get_by_role("button", name="Raise").click()
    await expect(second.get_by_role("heading", name="Answered by")).to_be_visible()
    assert float((await dashboard.run("{ team { dayBudgetUsd } }"))["team"]["dayBudgetUsd"]) == 40


async def test_a_dead_letter_is_replayed_with_changes_by_another_agent_or_discarded(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.OPERATOR, "/dead-letters")
    await dashboard.live(page)
    await expect(page.get_by_text("No dead letters")).to_be_visible()
    await delegate(dashboard, "max", "@fail final no style guide", title="Announce it")
    await page.get_by_role("link", name="Announce it").click()
    await expect(page.locator(".desk-open")).to_contain_text("no style guide")
    await dashboard.accessible(page)

    await page.get_by_role("button", name="Replay").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Assignee").select_option(label="Ada")
    await dialog.get_by_label("Instructions").fill("Announce the search in one sentence.")
    await dialog.get_by_label("A note").fill("Without the guide")
    await dashboard.accessible(page)
    await dialog.get_by_role("button", name="Replay").click()
    await page.wait_for_url("**/#/tasks/task_*")
    await expect(page.locator(".subject .status")).to_have_text("Completed", timeout=40_000)

    await delegate(dashboard, "max", "@fail final lost", title="Lost one")
    await page.goto(f"{dashboard.server.url}/#/dead-letters")
    await page.get_by_role("link", name="Lost one").click()
    await page.get_by_role("button", name="Discard").click()
    await dialog.get_by_label("A note").fill("Not worth it")
    await dialog.get_by_role("button", name="Discard").click()
    await expect(page.locator(".desk-open .status").first).to_have_text("Discarded")
    letters = "{ deadLetters { nodes { status note replay { status instructions assignee { slug } } } } }"
    nodes = (await dashboard.run(letters))["deadLetters"]["nodes"]
    assert [(one["status"], one["note"]) for one in nodes] == [
        ("REPLAYED", "Without the guide"),
        ("DISCARDED", "Not worth it"),
    ]
    assert nodes[0]["replay"] == {
        "status": "COMPLETED", "instructions": "Announce the search in one sentence.", "assignee": {"slug": "ada"},
    }  # fmt: skip
