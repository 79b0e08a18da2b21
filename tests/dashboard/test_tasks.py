"""The pages of tasks: find them, delegate one, follow it live with all below it, and step in."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard
from tests.fixtures.deeds import delegate

HOSTILE = "<img src=x onerror=alert(1)> & <b>bold</b>"


async def test_a_task_is_delegated_seen_elsewhere_given_to_another_agent_and_cancelled(dashboard: Dashboard) -> None:
    watcher = await dashboard.open_page(Role.ANALYST, "/tasks")
    await dashboard.live(watcher)
    await expect(watcher.get_by_text("No tasks yet")).to_be_visible()
    await expect(watcher.get_by_role("button", name="Delegate a task")).to_have_count(0)
    page = await dashboard.open_page(Role.ADMIN, "/tasks")
    await dashboard.accessible(page)

    await page.get_by_role("button", name="Delegate a task").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("What is wanted").fill(HOSTILE)
    await dialog.get_by_label("For", exact=True).select_option(label="Luke")
    await dialog.get_by_label("Instructions").fill("@wait 300\nLook at the checkout.")
    await dashboard.accessible(page)
    await dialog.get_by_role("button", name="Delegate").click()

    await page.wait_for_url("**/#/tasks/task_*")
    task_id = page.url.rsplit("/", 1)[1]
    await expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    await expect(page.locator(".subject .status")).to_have_text("In progress")
    await expect(watcher.get_by_role("row").filter(has_text=HOSTILE)).to_contain_text("In progress")
    await watcher.get_by_label("Words").fill("no such words")
    await expect(watcher.get_by_text("No task fits")).to_be_visible()

    await page.get_by_role("button", name="Reassign").click()
    await dialog.get_by_label("To").select_option(label="Ada")
    await dialog.get_by_label("Why").fill("She knows the data")
    await dialog.get_by_role("button", name="Reassign").click()
    await expect(page.locator(".subject").get_by_role("link", name="Ada")).to_be_visible()

    await watcher.goto(page.url)
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="Cancel")).to_have_count(0)
    await page.get_by_role("button", name="Cancel").click()
    await dialog.get_by_label("Why").fill("Not needed")
    await dialog.get_by_role("button", name="Cancel the task").click()

    await expect(page.get_by_role("button", name="Retry")).to_be_visible()
    await expect(watcher.locator(".subject .status")).to_have_text("Cancelled")
    read = await dashboard.run(
        "query ($id: ID!) { task(id: $id) { status assignee { slug } error } }",
        {"id": task_id},
    )
    assert read["task"]["status"] == "CANCELLED"
    assert read["task"]["assignee"]["slug"] == "ada"
    assert "Not needed" in read["task"]["error"]


async def test_a_task_shows_its_tree_its_tool_calls_and_what_came_of_it(dashboard: Dashboard) -> None:
    work = "delegate to ada: count the collisions\nThen list what has to change."
    task_id = await delegate(dashboard, "luke", work, title="Review the checkout")
    page = await dashboard.open_page(Role.ADMIN, f"/tasks/{task_id}")

    tree = page.locator(".tree")
    await expect(tree.get_by_role("link", name="count the collisions")).to_be_visible()
    await expect(page.locator(".subject .status")).to_have_text("Completed", timeout=40_000)
    await expect(page.get_by_role("heading", name="Result")).to_be_visible()
    call = page.locator(".tool-calls li").filter(has_text="delegate_task")
    await call.locator("summary").click()
    await expect(call.locator("pre").first).to_contain_text("ada")
    await expect(call.get_by_role("link", name="count the collisions")).to_be_visible()
    await expect(page.get_by_role("table", name="Attempts")).to_contain_text("offline")
    await tree.get_by_role("button", name="Hide 1 subtask").click()
    await expect(tree.get_by_role("link", name="count the collisions")).to_have_count(0)
    await dashboard.accessible(page)

    await tree.get_by_role("button", name="Show 1 subtask").click()
    await tree.get_by_role("link", name="count the collisions").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("count the collisions")
    await expect(tree.locator("[aria-current]")).to_have_text("count the collisions")


async def test_a_failure_on_a_phone_says_why_and_a_task_that_is_not_there_says_so(dashboard: Dashboard) -> None:
    task_id = await delegate(dashboard, "luke", f"@fail final {HOSTILE}", title="Look")
    page = await dashboard.open_page(Role.OPERATOR, f"/tasks/{task_id}", viewport=PHONE, dark=True)

    await expect(page.get_by_role("heading", name="Why it did not complete")).to_be_visible()
    await expect(page.locator(".outlined")).to_contain_text(HOSTILE)
    await expect(page.get_by_role("button", name="Retry")).to_be_visible()
    await expect(page.get_by_role("link", name="Resolve the dead letter")).to_be_visible()
    await dashboard.accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await page.goto(page.url.replace(task_id[-4:], "0000"))
    await expect(page.get_by_text("There is no such task")).to_be_visible()
