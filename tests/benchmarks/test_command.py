"""`make bench`: every part is registered, a failure does not stop the others, and results are kept part by part."""

from __future__ import annotations

import asyncio
import json
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from benchmarks import parts as parts_package
from benchmarks.__main__ import main
from benchmarks.part import Depth, Figures, Need, OpenTestbed, Part
from benchmarks.parts import PARTS
from benchmarks.processes import ChildProcess


def measure_depth(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    return {"depth": depth, "by_size": {10: 1.5}}


def fail(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    raise RuntimeError("the database is gone")


def print_figures(figures: Figures) -> str:
    return f"figures {json.dumps(figures)}"


def part(name: str, **fields: Any) -> Part:
    return Part(name, **{"measure": measure_depth, "table": print_figures} | fields)


def read(folder: Path, depth: Depth = Depth.NORMAL) -> dict[str, Any]:
    merged: dict[str, Any] = json.loads((folder / depth / "latest.json").read_text())
    return merged


def test_every_module_of_the_folder_is_a_registered_part_with_a_table() -> None:
    modules = {
        info.name: import_module(f"benchmarks.parts.{info.name}")
        for info in pkgutil.iter_modules(parts_package.__path__)
    }

    assert sorted(registered.name for registered in PARTS) == sorted(modules)
    for registered in PARTS:
        module = modules[registered.name]
        assert registered == module.PART
        assert (registered.measure, registered.table) == (module.measure, module.table)


def test_documentation_names_every_part() -> None:
    text = Path("docs/benchmarks.md").read_text()

    assert [registered.name for registered in PARTS if f"| `{registered.name}` |" not in text] == []


@pytest.mark.parametrize("broken", [{"measure": fail}, {"table": fail}], ids=["measure", "table"])
def test_failing_part_fails_the_command_and_the_others_still_run(
    broken: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status = main(["--quick"], parts=(part("first"), part("broken", **broken), part("last")), folder=tmp_path)

    output, errors = capfd.readouterr()
    assert status == 1
    assert output.count('figures {"depth": "quick", "by_size": {"10": 1.5}}') == 2
    assert "broken: failed." in output
    assert errors.endswith("Failed: broken\n")
    assert {"first", "last"} <= set(read(tmp_path, Depth.QUICK))


def test_running_one_part_keeps_the_results_of_the_others(tmp_path: Path) -> None:
    parts = (part("first"), part("second"), part("third"))
    assert main([], parts=parts, folder=tmp_path) == 0
    before = read(tmp_path)

    changed = (
        part("first"),
        part("second", measure=lambda open_testbed, depth: {"new": 1}),
        part("third", measure=fail),
    )
    assert main(["second"], parts=changed, folder=tmp_path) == 0
    assert main(["third"], parts=changed, folder=tmp_path) == 1
    assert main(["first", "--quick"], parts=changed, folder=tmp_path) == 0

    after = read(tmp_path)
    assert after["second"]["figures"] == {"new": 1}
    assert (after["first"], after["third"]) == (before["first"], before["third"])


def test_part_without_its_needs_is_left_out_and_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    browser = Need("a browser", lambda: "no browser is installed")

    status = main([], parts=(part("pages", needs=(browser,)), part("reads", options=(browser,))), folder=tmp_path)

    output = capfd.readouterr().out
    assert status == 0
    assert "pages: left out, because no browser is installed." in output
    assert "reads: contenders are left out, because no browser is installed." in output
    assert {name: result["left_out"] for name, result in read(tmp_path).items()} == {
        "reads": ["no browser is installed"]
    }


def test_unknown_part_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["first", "other"], parts=(part("first"),), folder=tmp_path)

    assert refusal.value.code == 2
    assert "unknown part: other. Choose from first." in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


async def count_agents_and_leftovers(url: str) -> tuple[int, int]:
    connection = await asyncpg.connect(url)
    agents = await connection.fetchval("select count(*) from agent")
    leftovers = await connection.fetchval("select count(*) from pg_class where relname = 'leftover'")
    await connection.execute("create table if not exists leftover ()")
    await connection.close()
    return agents, leftovers


def test_each_part_gets_its_own_database_and_a_failing_part_leaves_no_process(tmp_path: Path) -> None:
    children: list[ChildProcess] = []

    def fail_with_open_child(open_testbed: OpenTestbed, depth: Depth) -> Figures:
        with open_testbed() as testbed:
            children.append(testbed.start_child("benchmarks.writer"))
            assert children[0].call(events=1) == {}
            asyncio.run(count_agents_and_leftovers(testbed.database_url))
            raise RuntimeError("halfway")

    def count(open_testbed: OpenTestbed, depth: Depth) -> Figures:
        with open_testbed() as testbed:
            return {"agents_and_leftovers": asyncio.run(count_agents_and_leftovers(testbed.database_url))}

    parts = (part("broken", measure=fail_with_open_child), part("next", measure=count))

    assert main([], parts=parts, folder=tmp_path) == 1
    assert read(tmp_path)["next"]["figures"] == {"agents_and_leftovers": [1_000, 0]}
    assert [child.is_running() for child in children] == [False]
