// What the team may spend in a day and in a month, and what it has.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { money } from '../../format.js';
import { card, field, form, gauge } from '../../parts.js';

const SET = mutation('setTeamBudgets', 'SetTeamBudgetsInput', 'TeamPayload { team { id } }');

export function budgets({ team }, page) {
  return h('div', { class: 'cards' },
    card({ title: 'Spent' }, account('Today', team.dayBudget, team.dayBudgetUsd), account('This month', team.monthBudget, team.monthBudgetUsd), h('p', { class: 'part quiet' }, 'Days and months are those of UTC. Work that would go over a cap is refused before it begins.')),
    page.can('CONFIGURE_TEAM') && card({ title: 'Caps' }, caps(team, page)));
}

function account(name, budget, own) {
  const cap = Number(budget?.cap ?? own ?? 0);
  const spent = Number(budget?.spent ?? 0);
  const reserved = Number(budget?.reserved ?? 0);
  return h('div', { class: 'budget', key: name },
    h('p', null, h('span', null, name), h('span', null, h('strong', null, money(spent)), cap ? ` of ${money(cap)}` : ' spent')),
    gauge({ spent: cap ? spent / cap : 0, reserved: cap ? reserved / cap : 0, label: `${name}: ${money(spent)} spent and ${money(reserved)} reserved of ${cap ? money(cap) : 'the installation’s cap'}` }),
    h('p', { class: 'quiet' }, own === null ? 'The installation’s cap counts.' : `The team’s own cap: ${money(own)}.`, reserved > 0 && ` ${money(reserved)} reserved for work under way.`));
}

function caps(team, page) {
  const usd = (text) => (text.trim() === '' ? null : text.trim());
  const save = async ({ dayUsd, monthUsd }) => {
    try {
      await page.act(SET, { dayUsd: usd(dayUsd), monthUsd: usd(monthUsd) }, { done: 'The caps are set', quiet: true });
      page.set({ trouble: null });
    } catch (trouble) {
      page.set({ trouble });
    }
  };
  const { trouble } = page.state;
  const one = (label, name, value) => field({ label, name, type: 'number', min: 0, max: 1_000_000, step: 'any', value: value ?? '', placeholder: 'the installation’s', hint: 'US dollars; empty: the installation’s setting counts.', error: trouble?.problem(name) });
  return form({ submit: 'Set', onsubmit: save, busy: page.isBusy(SET.field), trouble }, one('A day', 'dayUsd', team.dayBudgetUsd), one('A month', 'monthUsd', team.monthBudgetUsd));
}
