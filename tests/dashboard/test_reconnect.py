"""The server is killed while two pages follow it: both go on where they were, with nothing lost and nothing twice."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect

from app.auth.roles import Role
from tests.dashboard.acts import act, started
from tests.fixtures.browser import Dashboard


async def test_after_the_server_was_killed_the_pages_go_on_where_they_were(dashboard: Dashboard) -> None:
    dashboard.expected += ["ERR_CONNECTION_", "WebSocket connection", "ERR_EMPTY_RESPONSE"]
    session, agent = await started(dashboard)
    overview = await dashboard.open_page(Role.ADMIN)
    lanes = await dashboard.open_page(Role.ANALYST, f"/sessions/{session}")
    await dashboard.live(overview)
    await dashboard.live(lanes)
    await overview.get_by_role("button", name="Pause Ada").click()
    await expect(overview.locator(".feed li", has_text="was paused")).to_have_count(1)
    await expect(lanes.locator(".timeline")).to_contain_text("1 span, 1 open")

    dashboard.server.kill()
    for page in (overview, lanes):
        await page.wait_for_selector(".connection[data-state=reconnecting]")
    await asyncio.to_thread(dashboard.server.start)
    await act(
        dashboard, "submitStageOutput", "", collaborationId=session, agentId=agent, result="The index was missing."
    )
    await act(dashboard, "resumeAgent", "", agentId=await _id_of(dashboard, "ada"))

    await expect(lanes.locator(".result")).to_contain_text("The index was missing.")
    await expect(lanes.locator(".timeline .card-subtitle")).to_have_text("1 agent, 1 span")
    await expect(overview.locator(".feed li", has_text="is back")).to_have_count(1)
    await expect(overview.locator(".feed li", has_text="was paused")).to_have_count(1)


async def _id_of(dashboard: Dashboard, slug: str) -> str:
    query = "query ($slug: String!) { agents(where: { slug: { eq: $slug } }) { nodes { id } } }"
    return str((await dashboard.run(query, {"slug": slug}))["agents"]["nodes"][0]["id"])
