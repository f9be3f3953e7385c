// The list of functions with the figures of the last 24 hours.

import { html } from './vendor.js';
import { Capacity } from './charts.js';
import { count, duration } from './format.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Ago, Pages, SearchBox } from './service_parts.js';

const EVERY_MS = 3000;

/** @param {{route: any}} props */
export function Page({ route }) {
  const { q = '', cursor = '' } = route.query;
  const { found, problem, again } = useRead('functions', { q, cursor }, { every: EVERY_MS });
  return html`<header class="head"><h1>Functions</h1></header>
    <div class="filters"><${SearchBox} route=${route} label="Part of a name" />${found ? html`<span class="space faint">${count(found.account.running)} of ${count(found.account.limit)} invocations at a time in use</span>` : null}</div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : !found.functions.length ? html`<div class="empty card">${q ? html`<p>No function matches. <a href=${format('functions')}>Show all</a></p>` : html`<h2>No function yet</h2><p>Deploy a project with <code>statewright deploy</code>, or create one with any AWS SDK.</p>`}</div>`
    : html`<div class="card scroll"><table class="list"><thead><tr><th>Name</th><th class="big">Runtime</th><th class="end">Invocations, 24 h</th><th class="end">Errors</th><th class="end">Throttles</th><th class="end">p95</th><th class="big">Concurrency</th><th class="end big">Changed</th></tr></thead>
      <tbody>${found.functions.map((/** @type {any} */ one) => html`<tr key=${one.name}><td class="name roomy"><a href=${format('function', one.name)}>${one.name}</a></td><td class="big">${one.runtime ?? html`<span class="faint">image</span>`}</td>
        <td class="end">${count(one.invocations)}</td><td class=${one.errors ? 'end fail' : 'end'}>${count(one.errors)}${one.invocations && one.errors ? html` <span class="faint">${Math.max(1, Math.round((100 * one.errors) / one.invocations))} %</span>` : null}</td>
        <td class=${one.throttles ? 'end fail' : 'end'}>${count(one.throttles)}</td><td class="end">${one.invocations ? duration(one.p95Ms) : html`<span class="faint">–</span>`}</td>
        <td class="big">${one.reserved === null ? html`${count(one.running)} <span class="faint">running, none reserved</span>` : html`<${Capacity} used=${one.running} limit=${one.reserved} label=${`${one.running} of ${one.reserved} reserved in use`} words=${`${count(one.running)} of ${count(one.reserved)}`} />`}</td>
        <td class="end big"><${Ago} ms=${one.modifiedMs} now=${found.nowMs} /></td></tr>`)}</tbody></table></div>
      <${Pages} route=${route} next=${found.next} />`}`;
}
