"""The pages of consultations: ask, see who answers and why, rate it; a loop waits for a person, who decides there."""

from __future__ import annotations

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard
from tests.fixtures.deeds import agent_ids, do
from tests.fixtures.installation import FIVE_MINUTES

QUESTION = "How should we review this pull request for race conditions?"


async def test_advice_is_asked_for_given_and_rated(dashboard: Dashboard) -> None:
    watcher = await dashboard.open_page(Role.ANALYST, "/consultations", viewport=PHONE)
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="Ask")).to_have_count(0)
    page = await dashboard.open_page(Role.ADMIN, "/consultations")
    await page.get_by_role("button", name="Ask").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("In the name of").select_option(label="Max")
    await dialog.get_by_label("Who might know").select_option(label="Ada")
    await dialog.get_by_label("Question").fill(QUESTION)
    await dialog.get_by_label("What exactly is unclear").fill("Two payments at once <b>collide</b>.")
    await dialog.get_by_role("button", name="Ask").click()

    await page.wait_for_url("**/#/consultations/consult_*")
    await expect(page.locator(".subject .status")).to_have_text("Completed", timeout=40_000)
    await expect(page.get_by_role("heading", name="Why Luke")).to_be_visible()
    await expect(page.locator(".split-side")).to_contain_text("not followed")
    await expect(page.locator(".phases")).to_contain_text("Delivery")
    await page.get_by_text("The context that was given").click()
    await expect(page.locator(".exchanges pre").first).to_contain_text("Two payments at once <b>collide</b>.")
    await expect(watcher.get_by_role("row").filter(has_text=QUESTION)).to_contain_text("Completed")
    await dashboard.accessible(page)
    await dashboard.accessible(watcher)

    await page.get_by_role("button", name="Ask further").click()
    await dialog.get_by_label("What is still unclear").fill(f"And when both time out {FIVE_MINUTES}?")
    await dialog.get_by_role("button", name="Ask").click()
    await expect(watcher.get_by_role("row").filter(has_text=QUESTION)).to_contain_text("In progress")
    await page.get_by_role("button", name="Answer").click()
    await dialog.get_by_label("Answer", exact=True).fill("Then neither was charged.")
    await dialog.get_by_label("Where to look").fill("docs/payments.md")
    await dialog.get_by_role("button", name="Answer").click()
    await expect(page.locator(".exchanges li.utterance")).to_have_count(4)
    await expect(page.locator(".exchanges li.utterance").last).to_contain_text("Then neither was charged.")
    await expect(page.locator(".exchanges li.utterance").last).to_contain_text("docs/payments.md")

    await page.get_by_role("button", name="Rate").click()
    await dialog.get_by_label("It helped").select_option("4")
    await dialog.get_by_label("What is to be learned").fill("Lock before reading.")
    await dialog.get_by_role("button", name="Rate").click()
    await expect(page.locator(".subject")).to_contain_text("4 of 5")
    read = await dashboard.run("{ consultations { nodes { rating lessons specialist { slug } } } }")
    assert read["consultations"]["nodes"] == [
        {"rating": 4, "lessons": "Lock before reading.", "specialist": {"slug": "luke"}}
    ]


async def test_what_nobody_can_answer_is_decided_by_a_person_on_its_page(dashboard: Dashboard) -> None:
    agents = await agent_ids(dashboard)
    asked = await do(dashboard, "requestConsultation", requesterId=agents["max"], question="zxqv wvut?")
    path = f"/consultations/{asked['consultation']['id']}"
    page = await dashboard.open_page(Role.OPERATOR, path)
    await dashboard.live(page)
    await expect(page.locator(".subject .status")).to_have_text("Escalated")
    await dashboard.accessible(page)

    await page.get_by_label("Your answer").fill("It is a typo.")
    await page.get_by_role("button", name="Answer").click()

    await expect(page.locator(".exchanges li").last).to_contain_text("It is a typo.")
    await expect(page.get_by_label("Your answer")).to_have_count(0)
    read = await dashboard.run("{ consultations { nodes { status outcome } } }")
    assert read["consultations"]["nodes"] == [{"status": "COMPLETED", "outcome": "ESCALATED"}]
