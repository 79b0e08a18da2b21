"""The pages of conversations: start one, talk, see who answers and why, hand it off, get it back."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard
from tests.fixtures.deeds import agent_ids, do
from tests.fixtures.installation import FIVE_MINUTES, HOSTILE

ENSEMBLES = """mutation { setFeatureFlags(input: { flags: [
  { flag: ENSEMBLE_MODE, enabled: true }, { flag: EXPERT_GATE, enabled: true }
] }) { __typename } setRoutingPolicy(input: { skillFloor: 0 }) { __typename } }"""
AT_END = "(pane) => pane.scrollHeight - pane.scrollTop - pane.clientHeight < 48"


async def at_end(page: Page) -> bool:
    return bool(await page.locator(".chat-pane").evaluate(AT_END))


async def test_a_conversation_is_started_answered_handed_off_returned_and_closed(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.OPERATOR, "/conversations")
    await expect(page.get_by_text("No conversation yet")).to_be_visible()
    await page.get_by_role("button", name="Start a conversation").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("What it is about").fill("Caches")
    await dialog.get_by_label("With").select_option(label="Kyra")
    await dialog.get_by_label("User’s name").fill("Mia")
    await dialog.get_by_label("Luke").check()
    await dashboard.accessible(page)
    await dialog.get_by_role("button", name="Start").click()

    await page.wait_for_url("**/#/conversations/conversation_*")
    conversation_id = page.url.rsplit("/", 1)[1]
    watcher = await dashboard.open_page(Role.ANALYST, f"/conversations/{conversation_id}")
    await dashboard.live(watcher)
    await expect(watcher.get_by_label("Your message")).to_have_count(0)
    await expect(watcher.get_by_role("button", name="Hand off")).to_have_count(0)

    seats = watcher.locator(".person-row")
    await page.get_by_role("button", name="Add", exact=True).click()
    await dialog.get_by_label("Agent").select_option(label="Zara")
    await dialog.get_by_role("button", name="Add").click()
    await expect(seats).to_have_text([re.compile("Kyra"), re.compile("Luke"), re.compile("Zara")])
    await page.get_by_role("button", name="Remove Zara").click()
    await dialog.get_by_role("button", name="Remove").click()
    await expect(seats).to_have_count(2)

    await page.get_by_label("Your message").fill(f"Repeat after me: {HOSTILE}")
    await page.get_by_label("Your message").press("Enter")

    for window in (page, watcher):
        answer = window.get_by_role("article", name="Kyra, message 2")
        await expect(answer).to_contain_text("You said <script>alert(1)</script> bold [x](javascript:alert(2))")
        await expect(answer.get_by_role("link", name="Why Kyra?")).to_have_attribute("href", re.compile("#/routing/"))
        await expect(answer.locator("details.step")).to_contain_text("the user had the word")
    await expect(page.get_by_label("Your message")).to_have_value("")
    await dashboard.accessible(page)

    await page.get_by_role("button", name="What Kyra sees").click()
    await expect(dialog.get_by_text("You are Kyra")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Hand off").click()
    await dialog.get_by_label("To", exact=True).select_option(label="Luke")
    await dialog.get_by_label("Why").fill("a bug in the build")
    await dialog.get_by_label("What they should know").fill("It fails since Monday.")
    await dialog.get_by_label("Who takes over says something at once").uncheck()
    await dialog.get_by_role("button", name="Hand off").click()

    for window in (page, watcher):
        await expect(window.locator(".handoff-stack li")).to_contain_text("a bug in the build")
        await expect(window.locator(".chat-head")).to_contain_text("Luke has it")
    await page.get_by_role("button", name="Redirect").click()
    await dialog.get_by_label("To", exact=True).select_option(label="Ada")
    await dialog.get_by_label("Why").fill("Luke is busy")
    await dialog.get_by_role("button", name="Redirect").click()
    await expect(watcher.locator(".chat-head")).to_contain_text("Ada has it")
    await page.get_by_role("button", name="Return").click()
    await dialog.get_by_label("What came of it").fill("A library was missing.")
    await dialog.get_by_role("button", name="Return it").click()
    await expect(watcher.locator(".chat-head")).to_contain_text("Kyra has it")

    chef = (await agent_ids(dashboard))["chef"]
    await do(dashboard, "saveGroup", name="Kitchen", slug="kitchen", agentIds=[chef])
    await page.reload()
    await page.get_by_role("button", name="Hand off").click()
    await dialog.get_by_label("To", exact=True).select_option(label="Kitchen (group)")
    await dialog.get_by_label("Why").fill("a menu")
    await dialog.get_by_label("Who takes over says something at once").uncheck()
    await dialog.get_by_role("button", name="Hand off").click()
    await expect(watcher.locator(".chat-head")).to_contain_text("Chef has it")
    await expect(dialog).to_have_count(0)

    await page.get_by_role("button", name="Close", exact=True).click()
    await dialog.get_by_role("button", name="Close it").click()
    await expect(page.get_by_text("it can only be read")).to_be_visible()
    read = await dashboard.run(
        "query ($id: ID!) { conversation(id: $id) { status handoffs { nodes { outcome toAgent { slug } } } } }",
        {"id": conversation_id},
    )
    assert read["conversation"]["status"] == "CLOSED"
    ended = [(one["toAgent"]["slug"], one["outcome"]) for one in read["conversation"]["handoffs"]["nodes"]]
    assert [slug for slug, _ in ended] == ["luke", "ada", "chef"]
    assert ended[1] == ("ada", "RETURNED")


async def test_an_answer_is_seen_while_it_is_written_and_can_be_stopped_or_interrupted(dashboard: Dashboard) -> None:
    kyra = (await agent_ids(dashboard))["kyra"]
    made = await do(dashboard, "startConversation", title="Slow", agentId=kyra, invite=[])
    conversation_id = made["conversation"]["id"]
    page = await dashboard.open_page(Role.ADMIN, f"/conversations/{conversation_id}")
    await dashboard.live(page)
    await page.get_by_label("Who answers").select_option(label="Kyra")
    await page.get_by_label("Your message").fill(f"Tell me about caches {FIVE_MINUTES}.")
    await page.get_by_role("button", name="Send").click()
    speaking = page.get_by_role("article", name="Kyra is answering")
    await expect(speaking).to_be_visible()

    await page.get_by_label("Your message").fill("Tell me about queues instead.")
    await page.get_by_label("Who answers").select_option(label="Kyra")
    await page.get_by_label("While an answer is under way").select_option("INTERRUPT")
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_role("article", name=re.compile("message 1$"))).to_contain_text("Stopped")
    await expect(page.locator("article[aria-label^=Kyra][aria-label*=message]").last).to_contain_text("queues")
    await page.get_by_label("Your message").fill(f"And of logs {FIVE_MINUTES}?")
    await page.get_by_label("Who answers").select_option(label="Kyra")
    await page.get_by_role("button", name="Send").click()
    await expect(speaking).to_be_visible()
    await page.get_by_role("button", name="Stop this answer").click()
    await page.get_by_role("dialog").get_by_label("Why").fill("Enough")
    await page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    await expect(speaking).to_have_count(0)
    replies = "query ($id: ID!) { conversation(id: $id) { replies { nodes { status error } } } }"
    read = await dashboard.run(replies, {"id": conversation_id})
    states = [reply["status"] for reply in read["conversation"]["replies"]["nodes"]]
    assert states == ["CANCELLED", "COMPLETED", "CANCELLED"]

    await dashboard.run(ENSEMBLES)
    ensemble = {"strategy": "ENSEMBLE", "threshold": 0.0}
    await do(dashboard, "sendMessage", conversationId=conversation_id, text="How do I bake bread?", **ensemble)
    behind = page.locator("details", has_text="6 agents stand behind this")
    await behind.locator("summary").first.click()
    await expect(behind.locator(".contributions > li")).to_have_count(6)
    await expect(behind.locator(".contributions > li", has_text="You ask: How do I bake bread?")).to_have_count(6)
    await dashboard.accessible(page)


async def test_the_pane_follows_its_end_only_while_the_reader_is_there(dashboard: Dashboard) -> None:
    luke = dashboard.team.agent_id
    made = await do(dashboard, "startConversation", title="Long", agentId=luke, invite=[])
    conversation_id = made["conversation"]["id"]
    for number in range(1, 46):
        await do(dashboard, "sendMessage", Role.AGENT, conversationId=conversation_id, text=f"Line {number}\n" * 3)
    page = await dashboard.open_page(Role.ADMIN, f"/conversations/{conversation_id}", viewport=PHONE)
    await dashboard.live(page)
    await expect(page.get_by_text("Line 45").first).to_be_visible()
    assert await at_end(page)

    await do(dashboard, "sendMessage", Role.AGENT, conversationId=conversation_id, text="Seen at once")
    await expect(page.get_by_text("Seen at once")).to_be_in_viewport()

    await page.locator(".chat-pane").evaluate("(pane) => pane.scrollTo(0, 300)")
    newest = page.get_by_role("button", name="To the newest")
    await expect(newest).to_be_visible()
    await do(dashboard, "sendMessage", Role.AGENT, conversationId=conversation_id, text="Not seen yet")
    await expect(page.get_by_text("Not seen yet")).to_have_count(1)
    await expect(page.get_by_text("Not seen yet")).not_to_be_in_viewport()
    assert not await at_end(page)

    await page.locator(".chat-pane").evaluate("(pane) => pane.scrollTo(0, 0)")
    await page.get_by_role("button", name="Earlier messages").click()
    await expect(page.locator("article[aria-label$='message 1']")).to_have_count(1)
    await expect(page.locator("article.utterance")).to_have_count(47)
    await newest.click()
    await expect(page.get_by_text("Not seen yet")).to_be_in_viewport()
    await dashboard.accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
