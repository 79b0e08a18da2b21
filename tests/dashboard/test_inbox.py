"""The inbox: what agents write to each other, unread first, live; acknowledged and answered by those who may."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard
from tests.fixtures.deeds import agent_ids, do


async def test_messages_come_by_themselves_are_read_and_answered(dashboard: Dashboard) -> None:
    agents = await agent_ids(dashboard)
    path = f"/inbox?agent={agents['luke']}"
    page = await dashboard.open_page(Role.ADMIN, path)
    watcher = await dashboard.open_page(Role.ANALYST, path, viewport=PHONE, dark=True)
    await dashboard.live(page)
    await dashboard.live(watcher)
    for subject in ("Caches", "Queues"):
        await do(
            dashboard, "sendAgentMessage", fromAgentId=agents["kyra"], toAgentId=agents["luke"], type="INFO_REQUEST",
            subject=subject, body="<b>What do you know?</b>", expiresAt="2027-11-01T12:00:00Z",
        )  # fmt: skip

    for window in (page, watcher):
        await expect(window.locator(".letter.is-unread")).to_have_count(2)
        await expect(window.locator(".letter").first).to_contain_text("means nothing after")
        await expect(window.locator(".letter").first).to_contain_text("<b>What do you know?</b>")
    await expect(watcher.get_by_role("button", name="Mark all as read")).to_have_count(0)
    await expect(watcher.get_by_role("button", name="Write")).to_have_count(0)
    await dashboard.accessible(watcher)
    await dashboard.accessible(page)

    await page.get_by_role("button", name="Mark “Queues” as read").click()
    await expect(page.locator(".letter.is-unread")).to_have_count(1)
    await expect(page.locator(".letter").first).to_contain_text("Caches")
    await expect(watcher.locator(".letter.is-unread")).to_have_count(1)
    await page.get_by_role("button", name="Mark all as read").click()
    await expect(watcher.locator(".letter.is-unread")).to_have_count(0)
    await page.locator(".letter", has_text="Caches").get_by_role("button", name="Answer").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Message").fill("A little.")
    await dialog.get_by_role("button", name="Send").click()
    await expect(dialog).to_have_count(0)

    await page.get_by_role("link", name="Kyra 1 unread").click()
    await expect(page.locator(".letter.is-unread")).to_contain_text("Re: Caches")
    await page.get_by_role("button", name="Write").click()
    await dialog.get_by_label("In the name of").select_option(label="Kyra")
    await dialog.get_by_label("To", exact=True).select_option(label="Everybody in the team")
    await dialog.get_by_label("Message").fill("The release is out.")
    await dialog.get_by_role("button", name="Send to everybody").click()
    await page.get_by_role("link", name="All that was said").click()
    await expect(page.locator(".letter").first).to_contain_text("to 5 agents")
    read = await dashboard.run(
        "{ agentMessages(last: 2) { nodes { channel type body replyTo { subject } sender { slug } } } }"
    )
    answer, shout = read["agentMessages"]["nodes"]
    assert (answer["type"], answer["replyTo"], answer["body"]) == ("INFO_RESPONSE", {"subject": "Caches"}, "A little.")
    assert (shout["channel"], shout["sender"]["slug"]) == ("team", "kyra")
