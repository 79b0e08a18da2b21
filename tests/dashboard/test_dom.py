"""The core that draws: a redraw keeps what people do on the page, and text never becomes markup."""

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


async def test_a_redraw_keeps_focus_and_typed_text_and_refuses_markup(dashboard: Dashboard) -> None:
    page = await dashboard.open_page(Role.ANALYST, "/tasks")

    found: dict[str, Any] = await page.evaluate(SCRIPT)

    assert found["order"] == "cdb"
    assert found["same"]
    assert found["value"] == "typed"
    assert found["told"][:5] == ["+atrue", "+btrue", "+ctrue", "-a", "+dtrue"]
    assert (found["refused"], found["text"]) == ("TypeError", "<b>bold</b>")
    assert found["addresses"] == [None, "#/tasks"]
