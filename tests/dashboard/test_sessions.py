"""Sessions: started by a click or a form, followed in lanes, and taken in hand by people."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.async_api import Page, expect

from app.auth.roles import Role
from tests.dashboard.acts import act, fail_task, started, wait_for
from tests.fixtures.browser import PHONE, Dashboard

SAMPLES = ("Supervisor and workers", "Pipeline", "Peer review", "Brainstorm", "Consensus", "Delegation")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")
GOING = "{ collaborationSessions(first: 10) { nodes { id pattern status participants { position } } } }"
LOOK = """query ($id: ID!) {
  collaborationSession(id: $id) { status maxDurationSeconds stages { nodes { attempt status superseded } } }
}"""
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3)) \u202etxet desrever "
    + "unbreakable" * 80
)


async def open_span_by_keys(page: Page) -> None:
    await page.locator(".lanes-plot canvas").focus()
    await page.keyboard.press("Home")
    await page.keyboard.press("+")
    await page.keyboard.press("Shift+ArrowRight")
    await page.keyboard.press("0")
    await page.keyboard.press("Enter")


async def test_each_sample_runs_to_its_end_and_all_is_seen_in_another_window(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    watcher = await dashboard.open_page(Role.ANALYST, "/sessions")
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="Start a session")).to_have_count(0)
    page = await dashboard.open_page(Role.ADMIN, "/sessions")
    for name in SAMPLES:
        await page.locator(".sample", has_text=name).click()
        await page.wait_for_url("**/#/sessions/collab_*")
        await page.evaluate("location.hash = '#/sessions'")

    found = await wait_for(
        dashboard, GOING, lambda data: all(one["status"] in ENDED for one in data["collaborationSessions"]["nodes"])
    )
    sessions = found["collaborationSessions"]["nodes"]
    assert len({one["pattern"] for one in sessions}) == len(SAMPLES)
    await expect(watcher.locator("tbody tr")).to_have_count(len(SAMPLES))
    await expect(watcher.locator("tbody .tone-busy")).to_have_count(0)
    for one in sessions:
        await page.evaluate(f"location.hash = '#/sessions/{one['id']}'")
        await expect(page.locator(".lanes-names li")).to_have_count(len(one["participants"]))
        await expect(page.locator(".session-head .tone-busy")).to_have_count(0)
        if one["pattern"] == "CONSENSUS":
            await expect(page.locator(".round")).to_contain_text("67 % agree")
            await expect(page.locator(".reasons li")).to_have_count(3)
            await dashboard.accessible(page)
        if one["pattern"] == "PEER_REVIEW":
            await expect(page.locator(".round")).to_have_count(2)
            await expect(page.locator(".round").first).to_contain_text("0 of 2 reviewers approve")

    await open_span_by_keys(page)
    shown = page.get_by_role("dialog")
    await expect(shown.get_by_role("heading", name="Output")).to_be_visible()
    await dashboard.accessible(page)
    await page.keyboard.press("Escape")
    await expect(shown).to_have_count(0)
    async with page.expect_download() as taken:
        await page.get_by_role("button", name="Trace").click()
    await (await taken.value).save_as(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())
    await watcher.get_by_label("Pattern").select_option("CONSENSUS")
    await expect(watcher.locator("tbody tr")).to_have_count(1)


async def test_a_failed_stage_is_decided_and_the_session_extended_and_cancelled(dashboard: Dashboard) -> None:
    session, agent = await started(dashboard)
    analyst = await dashboard.open_page(Role.ANALYST, f"/sessions/{session}")
    page = await dashboard.open_page(Role.OPERATOR, f"/sessions/{session}")
    await dashboard.live(page)
    await dashboard.live(analyst)

    await fail_task(dashboard, agent)
    await expect(analyst.locator(".failure")).to_contain_text("The log is gone.")
    await expect(analyst.get_by_role("button", name="Decide")).to_have_count(0)
    await expect(analyst.get_by_role("button", name="Cancel session")).to_have_count(0)
    await page.locator(".failure").get_by_role("button", name="Decide").click()
    await dashboard.accessible(page)
    await page.get_by_role("dialog").get_by_role("button", name="Decide").click()
    again = await wait_for(
        dashboard, LOOK, lambda data: len(data["collaborationSession"]["stages"]["nodes"]) == 2, id=session
    )
    assert [stage["superseded"] for stage in again["collaborationSession"]["stages"]["nodes"]] == [True, False]
    await expect(page.locator(".failure")).to_have_count(0)

    await page.get_by_role("button", name="Extend").click()
    await page.get_by_label("Minutes more").fill("10")
    await page.get_by_role("dialog").get_by_role("button", name="Extend").click()
    await wait_for(dashboard, LOOK, lambda data: data["collaborationSession"]["maxDurationSeconds"] == 1200, id=session)
    await expect(analyst.locator(".caps")).to_contain_text("20 min")

    await page.get_by_role("button", name="Cancel session").click()
    await page.get_by_label("Reason").fill("Enough is known.")
    await page.get_by_role("dialog").get_by_role("button", name="Cancel session").click()
    await expect(analyst.locator(".session-head")).to_contain_text("Cancelled")
    await expect(page.get_by_role("button", name="Extend")).to_have_count(0)


async def test_hostile_output_stays_text_and_fits_a_phone(dashboard: Dashboard) -> None:
    session, agent = await started(dashboard, HOSTILE)
    page = await dashboard.open_page(Role.ADMIN, f"/sessions/{session}", viewport=PHONE, dark=True)
    await dashboard.live(page)

    await act(dashboard, "submitStageOutput", "", collaborationId=session, agentId=agent, result=HOSTILE)

    await expect(page.locator(".result")).to_contain_text("<script>alert(2)</script>")
    await page.locator(".stage-output", has_text="Output").click()
    assert await page.locator("main img, main a[href^=javascript]").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    await dashboard.accessible(page)
    await page.locator(".stage-row .link-button").click()
    await expect(page.get_by_role("dialog")).to_contain_text("<img src=x")


async def test_a_session_is_started_by_its_form_which_says_what_is_wrong(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.ADMIN, "/sessions")
    await page.get_by_role("button", name="Start a session").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Goal").fill("Which name do we take?")
    await form.get_by_label("Role").first.select_option("WORKER")
    await form.get_by_role("button", name="Start").click()
    await expect(form.get_by_role("alert")).to_be_visible()
    assert await form.get_by_label("Goal").input_value() == "Which name do we take?"

    await form.get_by_label("Pattern").select_option("CONSENSUS")
    await form.get_by_label("Options").fill("Parley\nPalaver")
    await dashboard.accessible(page)
    await form.get_by_role("button", name="Start").click()
    await page.wait_for_url("**/#/sessions/collab_*")
    await expect(page.locator(".tally")).to_contain_text("Palaver")
