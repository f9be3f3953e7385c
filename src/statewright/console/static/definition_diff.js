// Two definitions side by side: their graphs, matched by the names of states, and their difference as text.

import { html, useMemo, useState } from './vendor.js';
import { plural } from './format.js';
import { Graph } from './graph.js';
import { stillRun } from './machine_graph.js';
import { Tabs } from './parts.js';

/** @typedef {{same: boolean, added: Record<string, string>, removed: Record<string, string>, changed: Record<string, string[]>, fields: string[], lines: string[], more: number, before: any, after: any}} Found */

/**
 * @param {{found: Found, words: [string, string], icons?: any}} props  `words` name the two sides
 */
export function Difference({ found, words, icons = null }) {
  const [view, setView] = useState('graph');
  const [chosen, setChosen] = useState('');
  const sides = useMemo(() => [stillRun(found.before), stillRun(found.after)], [found]);
  const looks = useMemo(() => [lookOf(found, 'before'), lookOf(found, 'after')], [found]);
  if (found.same) return html`<p class="banner ok"><span>The two definitions are the same.</span></p>`;
  return html`<div class="wb-difference"><p class="wb-legend">${summary(found).map(([look, text]) => html`<span class=${`badge ${look}`}>${text}</span>`)}</p>
    <${Tabs} items=${[['graph', 'Graphs'], ['states', 'States'], ['text', 'Text']]} chosen=${view} label="View of the difference" panel="difference" look="pill" onChoose=${setView} />
    <div role="tabpanel" id="difference" aria-labelledby=${`difference-${view}`} tabindex="0">
    ${view === 'graph' ? html`<div class="wb-sides">${sides.map((run, side) => html`<figure key=${side}><figcaption>${words[side]}</figcaption>
        <${Graph} run=${run} at=${0} selected=${chosen} icons=${icons} onSelect=${setChosen} lookOf=${looks[side]} /></figure>`)}</div>
        ${chosen && Object.hasOwn(found.changed, chosen) ? html`<p class="banner wait"><span><b><bdi>${chosen}</bdi></b> differs in <bdi>${found.changed[chosen].join(', ')}</bdi></span></p>` : null}`
      : view === 'states' ? html`<${States} found=${found} />`
        : html`<pre class="wb-unified" tabindex="0">${found.lines.map((line) => html`<span class=${lineLook(line)}>${line}${'\n'}</span>`)}${found.more ? html`<span class="faint">${found.more.toLocaleString('en-GB')} lines are not shown</span>` : null}</pre>`}</div></div>`;
}

/** The classes and words of states on one side. @param {Found} found @param {'before' | 'after'} side @returns {(name: string) => [string, string] | undefined} */
export function lookOf(found, side) {
  return (name) => {
    if (Object.hasOwn(found.changed, name)) return ['d-changed', `changed: ${found.changed[name].join(', ')}`];
    if (side === 'after' && Object.hasOwn(found.added, name)) return ['d-added', 'added'];
    if (side === 'before' && Object.hasOwn(found.removed, name)) return ['d-removed', 'removed'];
    return ['d-same', 'the same on both sides'];
  };
}

/** @param {Found} found @returns {[string, string][]} */
export function summary(found) {
  const counts = [Object.keys(found.added).length, Object.keys(found.removed).length, Object.keys(found.changed).length];
  /** @type {[string, string][]} */
  const words = [['t-ok', `+ ${plural(counts[0], 'state')} added`], ['t-fail', `− ${plural(counts[1], 'state')} removed`], ['t-wait', `~ ${plural(counts[2], 'state')} changed`]];
  const shown = words.filter((_, place) => counts[place]);
  return found.fields.length ? [...shown, ['t-wait', `~ the machine's ${found.fields.join(', ')}`]] : shown.length ? shown : [['t-idle', 'The states are the same']];
}

/** @param {string} line */
function lineLook(line) {
  if (/^(---|\+\+\+)/.test(line)) return 'faint';
  return line.startsWith('+') ? 'madd' : line.startsWith('-') ? 'mgone' : line.startsWith('@@') ? 'wb-hunk' : '';
}

/** @param {{found: Found}} props */
function States({ found }) {
  const rows = [
    ...Object.entries(found.added).map(([name, type]) => ['+', 'added', name, type]), ...Object.entries(found.removed).map(([name, type]) => ['−', 'removed', name, type]),
    ...Object.entries(found.changed).map(([name, fields]) => ['~', 'changed', name, fields.join(', ')]),
    ...(found.fields.length ? [['~', 'changed', 'The machine itself', found.fields.join(', ')]] : []),
  ];
  return html`<table class="list"><thead><tr><th>Change</th><th>State</th><th>Type, or fields that differ</th></tr></thead><tbody>
    ${rows.slice(0, 200).map(([sign, words, name, more]) => html`<tr><td><b>${sign}</b> ${words}</td><td class="name"><bdi>${name}</bdi></td><td><bdi>${more}</bdi></td></tr>`)}</tbody></table>
    ${rows.length > 200 ? html`<p class="faint pad">and ${(rows.length - 200).toLocaleString('en-GB')} more; the text has them all</p>` : null}`;
}
