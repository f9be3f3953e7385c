// What a machine's last executions did, on its graph: heat, where running ones stand, and what they cost.

import { html, useState } from './vendor.js';
import { Costs } from './costs.js';
import { ago, count, duration, instant, iso, plural } from './format.js';
import { FigureGraph } from './heat_graph.js';
import { levelOf, looksOf, METRICS, metricOf, money, percent, widthsOf } from './heat_model.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';

/** @type {[string, string][]} */
const VIEWS = [['heat', 'Heat'], ['occupancy', 'Occupancy'], ['costs', 'Cost']];

/** @param {any} props */
export function Page({ route: { id: arn, query }, server }) {
  const view = VIEWS.some(([key]) => key === query.view) ? query.view : 'heat';
  const name = arn.split(':')[6] ?? arn;
  const Found = /** @type {Record<string, any>} */ ({ heat: Heat, occupancy: Occupancy, costs: Costs })[view];
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a><span>/</span><a href=${format('executions', '', { machine: arn })}>${name}</a></div>
    <div class="title"><h1><bdi>${name}</bdi></h1><div class="actions"><a class="action" href=${format('simulations', '', { from: arn })}>Simulate from here</a></div></div></header>
    <${Tabs} items=${VIEWS} chosen=${view} label="Views of the machine" panel="figures" onChoose=${(/** @type {string} */ key) => go(format('heat', arn, { view: key === 'heat' ? null : key }), true)} />
    <div role="tabpanel" id="figures" class="insight" aria-labelledby=${`figures-${view}`}><${Found} key=${view} machine=${arn} server=${server} /></div>`;
}

/** The ARN of a machine, which may be given as a document. @param {any} machine @returns {string} */
export function arnOf(machine) {
  return typeof machine === 'string' ? machine : machine.arn ?? machine.stateMachineArn;
}

/** Heat on a machine's graph. @param {{machine: any, server: any}} props  the machine's ARN, or a document that has it */
export function Heat({ machine, server }) {
  const arn = arnOf(machine);
  const { found, problem, again } = useRead('machine/heat', { arn });
  const [chosen, setChosen] = useState('p95');
  const [selected, setSelected] = useState('');
  if (problem) return html`<${Refusal} problem=${problem} again=${again} arn=${arn} />`;
  if (!found) return html`<p class="faint pad">Reading the last executions…</p>`;
  if (!found.runs) return html`<${None} arn=${arn} />`;
  const metric = metricOf(chosen);
  const state = found.states.find((/** @type {any} */ one) => one.name === selected) ?? slowestOf(found.states);
  return html`<p class="summary">The last <b>${plural(found.runs, 'execution')}</b>${found.isCut ? ', as many as have 200,000 events' : ''}, ${found.events.toLocaleString('en-GB')} events, from <time title=${iso(found.sinceMs)}>${instant(found.sinceMs)}</time> to <time title=${iso(found.untilMs)}>${instant(found.untilMs)}</time> UTC.
      ${found.lasted.p50 === null ? '' : html` The median took <b>${duration(found.lasted.p50)}</b>, p95 <b>${duration(found.lasted.p95)}</b>.`} ${found.running ? `${plural(found.running, 'execution')} still ${found.running === 1 ? 'runs' : 'run'}.` : ''}</p>
    <div class="choice" role="group" aria-label="Figure on the graph"><div class="tabs pill">${METRICS.map((one) => html`<button key=${one.key} aria-pressed=${one.key === metric.key} onClick=${() => setChosen(one.key)}>${one.words}</button>`)}</div></div>
    <div class="pair"><${FigureGraph} drawing=${found.drawing} looks=${looksOf(found.states, metric)} widths=${widthsOf(found.edges)} hue=${metric.hue} icons=${server?.icons} selected=${state?.name ?? ''} onSelect=${setSelected} />
      <${Slowest} state=${state} /></div>
    <${Figures} found=${found} selected=${state?.name ?? ''} onSelect=${setSelected} />`;
}

/** @param {any[]} states */
function slowestOf(states) {
  return states.reduce((one, other) => ((other.p95 ?? -1) > (one?.p95 ?? -1) ? other : one), states[0]);
}

/** @param {any} props */
function Slowest({ state }) {
  if (!state) return null;
  return html`<aside class="card side" aria-label="State"><header><h2><bdi>${state.name}</bdi></h2><p class="faint">${state.type} · ${plural(state.visits, 'visit')}</p></header>
    ${state.errors.length ? html`<h3>Errors of its attempts</h3><ul>${state.errors.map((/** @type {any} */ one) => html`<li><bdi>${one.error}</bdi> <span class="faint">${plural(one.count, 'time')}</span></li>`)}</ul>` : null}
    <h3>Slowest visits</h3>${state.slowest.length ? html`<ol>${state.slowest.map((/** @type {any} */ one) => html`<li key=${`${one.arn} ${one.visit}`}><a href=${format('execution', one.arn, { state: state.name, visit: one.visit })}><bdi>${one.arn.split(':').pop()}</bdi></a>
      <span>${duration(one.tookMs)}</span> <time class="faint" title=${iso(one.atMs)}>${instant(one.atMs)}</time></li>`)}</ol>` : html`<p class="faint">None of its visits has ended.</p>`}</aside>`;
}

/** The same figures as text. @param {any} props */
function Figures({ found, selected, onSelect }) {
  const say = (/** @type {number | null} */ ms) => (ms === null ? '' : duration(ms));
  return html`<div class="card scroll"><table class="list"><caption class="unseen">Figures of all states</caption><thead><tr><th>State</th><th>Type</th><th class="end">Visits</th><th class="end">p50</th><th class="end">p95</th><th class="end">Time in all</th><th class="end">Failed</th><th class="end">Caught</th><th class="end">Failures</th><th class="end">Retries</th><th class="end">Cost</th></tr></thead>
    <tbody>${found.states.map((/** @type {any} */ state) => html`<tr key=${state.name} class=${state.name === selected ? 'on' : ''}><td class="name"><button class="link" onClick=${() => onSelect(state.name)}><bdi>${state.name}</bdi></button>${state.isDrawn ? '' : html` <span class="faint">of another revision</span>`}</td><td>${state.type}</td>
      <td class="end">${count(state.visits)}</td><td class="end">${say(state.p50)}</td><td class="end">${say(state.p95)}</td><td class="end">${duration(state.totalMs)}</td><td class="end">${count(state.failed)}</td><td class="end">${count(state.caught)}</td>
      <td class="end">${percent((state.failed + state.caught) / Math.max(1, state.visits))}</td><td class="end">${count(state.retries)}</td><td class="end">${money(state.usd)}</td></tr>`)}</tbody></table></div>
    <p class="faint">Failures are visits that failed or were caught. The cost is an estimate at the service's prices of ${found.prices.date}, ${found.prices.region}.</p>`;
}

/** Where the running executions stand. @param {{machine: any, server: any}} props */
export function Occupancy({ machine, server }) {
  const arn = arnOf(machine);
  const { found, problem, again } = useRead('machine/occupancy', { arn });
  const [selected, setSelected] = useState('');
  if (problem) return html`<${Refusal} problem=${problem} again=${again} arn=${arn} />`;
  if (!found) return html`<p class="faint pad">Reading the running executions…</p>`;
  const most = Math.max(0, ...found.states.map((/** @type {any} */ one) => one.count));
  const looks = new Map(found.states.map((/** @type {any} */ one) => [one.name, { level: levelOf(one.count, most), words: `${count(one.count)} here` }]));
  const running = format('executions', '', { machine: arn, status: 'RUNNING' });
  return html`<p class="summary"><b>${plural(found.running, 'execution')}</b> ${found.running === 1 ? 'runs' : 'run'}.${found.isCut ? ` The newest ${found.looked.toLocaleString('en-GB')} are counted here.` : ''} ${found.running ? html`<a href=${running}>List them</a>` : ''}
      <button class="action" onClick=${again}>Read again</button></p>
    ${found.states.length ? html`<div class="pair"><${FigureGraph} drawing=${found.drawing} looks=${looks} widths=${new Map()} hue="count" none="none here" icons=${server?.icons} selected=${selected} onSelect=${setSelected} />
      <aside class="card scroll side" aria-label="Where they stand"><table class="list"><thead><tr><th>State</th><th class="end">Here</th><th>Longest here</th></tr></thead><tbody>${found.states.map((/** @type {any} */ one) => html`<tr key=${one.name} class=${one.name === selected ? 'on' : ''}>
        <td class="name">${one.name === null ? html`<span class="faint">Before the first state</span>` : html`<button class="link" onClick=${() => setSelected(one.name)}><bdi>${one.name}</bdi></button>`}</td><td class="end">${count(one.count)}</td>
        <td><ul class="plainlist">${one.oldest.map((/** @type {any} */ run) => html`<li key=${run.arn}><a href=${format('execution', run.arn)}><bdi>${run.name}</bdi></a> <time class="faint" title=${iso(run.sinceMs)}>${ago(run.sinceMs, found.nowMs)}</time></li>`)}</ul></td></tr>`)}</tbody></table></aside></div>
      <p class="faint">An execution with branches or items is counted where its last event was.</p>` : html`<div class="empty card"><h2>Nothing runs</h2><p>Start an execution with <code>statewright run</code> or any AWS SDK.</p></div>`}`;
}

/** @param {any} props */
function None({ arn }) {
  return html`<div class="empty card"><h2>No execution yet</h2><p>Figures come from the last executions of this state machine. Start one with <code>${`statewright run ${arn.split(':')[6] ?? 'MACHINE'} -i '{}'`}</code>.</p></div>`;
}

/** @param {any} props */
function Refusal({ problem, again, arn }) {
  if (problem.code !== 'NoHistory') return html`<${Problem} problem=${problem} again=${again} />`;
  return html`<div class="empty card"><h2>There is no history to read</h2><p>${problem.message}</p><p><a href=${format('express', arn)}>Record its executions while I watch</a></p></div>`;
}
