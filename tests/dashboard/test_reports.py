"""The pages of reports: ask for one by its template, see it come, and take it along as a file."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from app.auth.roles import Role
from tests.fixtures.browser import PHONE, Dashboard


async def test_a_report_is_requested_written_and_downloaded(dashboard: Dashboard, tmp_path: Path) -> None:
    watcher = await dashboard.open_page(Role.OPERATOR, "/reports", viewport=PHONE)
    await dashboard.live(watcher)
    await expect(watcher.get_by_role("button", name="Request a report")).to_have_count(0)
    page = await dashboard.open_page(Role.ADMIN, "/reports")
    await page.get_by_role("button", name="Request a report").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Type").select_option(label="Comparison")
    await dialog.get_by_label("Title").fill("Which cache?")
    await dialog.get_by_label("Options").fill("Redis")
    await dialog.get_by_label("Written by").select_option(label="Zara")
    await dialog.get_by_role("button", name="Request").click()
    await expect(dialog.locator(".field-error")).to_contain_text("2")

    await dialog.get_by_label("Options").fill("Redis\nValkey")
    await dialog.get_by_label("What it is to be written from").fill(
        "Valkey took 0.3 ms, Redis 0.4 ms. <b>Both</b> are fast."
    )
    await dialog.get_by_label("Trade offs").check()
    await dashboard.accessible(page)
    await dialog.get_by_role("button", name="Request").click()

    await page.wait_for_url("**/#/reports/report_*")
    await expect(page.locator(".subject .status").first).to_have_text("Valid", timeout=40_000)
    await expect(page.locator(".paper section")).not_to_have_count(0)
    await expect(page.locator(".contents")).to_contain_text("Trade offs")
    await expect(watcher.get_by_role("row").filter(has_text="Which cache?")).to_contain_text("Valid")
    await dashboard.accessible(page)
    await dashboard.accessible(watcher)
    for name, ending, start in (("Markdown", "md", "#"), ("HTML", "html", "<!doctype html"), ("JSON", "json", "{")):
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name=f"Download as {name}").click()
        file = await waiting.value
        assert file.suggested_filename == f"which-cache.{ending}"
        await file.save_as(tmp_path / file.suggested_filename)
        text = (tmp_path / file.suggested_filename).read_text(encoding="utf-8")
        assert text.lower().lstrip().startswith(start)
        assert "Valkey" in text

    report = (await dashboard.run("{ reports { nodes { type status parameters requiredSections } } }"))["reports"][
        "nodes"
    ][0]
    assert report["parameters"] == {"options": ["Redis", "Valkey"]}
    assert "trade_offs" in report["requiredSections"]
