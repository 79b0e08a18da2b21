"""The core: a redraw keeps what people do on the page, text never becomes markup, and reading leaves points over."""

from __future__ import annotations

from typing import Any

from app.auth.roles import Role
from tests.fixtures.browser import Dashboard

SCRIPT = """async () => {
  const { h, patch } = await import(document.querySelector('script[type=module]').src.replace('main.js', 'dom.js'));
  const root = document.body.appendChild(document.createElement('div'));
  const told = [];
  const mount = (key) => (el) => {
    told.push(`+${key}${el.isConnected}`);
    return () => told.push(`-${key}`);
  };
  const row = (key) => h('li', { key, mount: mount(key) }, h('input', { name: key }), key);
  const draw = (...keys) => patch(root, h('ul', null, keys.map(row)));
  draw('a', 'b', 'c');
  const kept = root.querySelector('[name=b]');
  kept.value = 'typed';
  kept.focus();
  kept.setSelectionRange(1, 3);
  draw('c', 'd', 'b');
  const order = [...root.querySelectorAll('li')].map((el) => el.textContent).join('');
  const same = root.querySelector('[name=b]') === kept && document.activeElement === kept && kept.selectionStart === 1;
  let refused = '';
  try { patch(root, h('iframe', { srcdoc: '<b>x</b>' })); } catch (error) { refused = error.name; }
  patch(root, [h('a', { href: 'javascript:alert(1)' }, '<b>bold</b>'), h('a', { href: '#/tasks' }, 'fine')]);
  const [bad, good] = root.querySelectorAll('a');
  root.remove();
  const addresses = [bad.getAttribute('href'), good.getAttribute('href')];
  return { order, same, value: kept.value, told, refused, addresses, text: bad.textContent };
}"""


PACE = """async () => {
  const folder = document.querySelector('script[type=module]').src.replace('main.js', '');
  const { Pace, Purse } = await import(`${folder}pace.js`);
  const { duration, money } = await import(`${folder}format.js`);
  const purse = new Purse();
  const pace = new Pace(purse);
  const waits = [pace.wait(0)];
  for (const now of [0, 100, 200]) { pace.read(now); waits.push(pace.wait(now)); }
  const hear = (left, seconds) => purse.hear(`"default";r=${left};t=${seconds}`, '"default";q=60000;w=60', 10_000);
  hear(31_000, 40);
  waits.push(pace.wait(10_000));
  hear(30_000, 40);
  waits.push(purse.pause(10_000), purse.pause(50_000));
  let left = 30_000;
  for (let now = 10_000; now < 50_000; now += Math.max(1, purse.pause(now))) {
    purse.hear(`"default";r=${(left -= 1_000)};t=${Math.ceil((50_000 - now) / 1000)}`, '"default";q=60000;w=60', now);
  }
  const times = [0.0004, 0.9996, 9.96, 59.7, 119.8, 600, 3599.8, 7500].map(duration);
  return { waits: waits.map(Math.round), left, times, costs: [0, 0.0000001, 0.0012, 12.3].map(money) };
}"""


async def test_a_redraw_keeps_focus_and_typed_text_and_refuses_markup(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.ANALYST, "/tasks")

    found: dict[str, Any] = await page.evaluate(SCRIPT)

    assert found["order"] == "cdb"
    assert found["same"]
    assert found["value"] == "typed"
    assert found["told"][:5] == ["+atrue", "+btrue", "+ctrue", "-a", "+dtrue"]
    assert (found["refused"], found["text"]) == ("TypeError", "<b>bold</b>")
    assert found["addresses"] == [None, "#/tasks"]

    # Three readings at once, then one every 600 ms; below half of the points ever less often, so that some are left.
    paced: dict[str, Any] = await page.evaluate(PACE)
    assert paced["waits"] == [0, 0, 0, 400, 0, 2667, 0]
    assert paced["left"] == 4_000
    assert paced["times"] == ["0 s", "1.0 s", "10 s", "1 min", "2 min", "10 min", "1 h", "2 h 5 min"]
    assert paced["costs"] == ["$0", "$0", "$0.0012", "$12.30"]
