// Simulations: results that are kept, starting one, and comparing two of them.

import { html, useEffect, useState } from './vendor.js';
import { act, read } from './api.js';
import { factsOf, seconds } from './chart_model.js';
import { Chart } from './charts.js';
import { Confirm, useAction } from './dialogs.js';
import { download, downloadText } from './downloads.js';
import { ago, duration, iso } from './format.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Start } from './simulation_form.js';

const EVERY_MS = 1500;
/** @type {Record<string, [string, string]>} */
const STATUS = {
  running: ['Running', 'run'], done: ['Came to rest', 'ok'], failed: ['Failed', 'fail'], 'given up': ['Ended by its bound', 'caught'],
  stopped: ['Stopped', 'idle'], interrupted: ['Interrupted', 'idle'], unreadable: ['Unreadable', 'fail'],
};

/** @param {any} props */
export function Page({ route: { id, query }, server }) {
  if (id) return html`<${Result} id=${id} other=${query.with ?? ''} server=${server} />`;
  return html`<div class="results"><header class="head"><div class="title"><h1>Simulations</h1></div></header>
    <p class="summary">A simulation puts a whole system under load in virtual time: hours pass in seconds, in a process of its own beside the server. It is what <code>statewright simulate</code> runs.</p>
    <${Start} from=${query.from ?? ''} server=${server} /><${List} /></div>`;
}

function List() {
  const { found, problem, again } = useRead('simulations', {}, { every: EVERY_MS });
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  if (!found.simulations.length) return html`<div class="empty card"><h2>No simulation yet</h2><p>Results are kept here, the last 50 of them. On the command line: <code>statewright simulate SCENARIO.yaml</code></p></div>`;
  return html`<div class="card scroll"><table class="list"><caption class="unseen">Simulations</caption><thead><tr><th>Name</th><th>Status</th><th>Started</th><th class="end">Took</th><th></th></tr></thead>
    <tbody>${found.simulations.map((/** @type {any} */ one) => html`<tr key=${one.id}><td class="name"><a href=${format('simulations', one.id)}><bdi>${one.name}</bdi></a></td><td><${Status} one=${one} /></td>
      <td><time title=${one.startedMs ? iso(one.startedMs) : ''}>${one.startedMs ? ago(one.startedMs, found.nowMs) : ''}</time></td><td class="end">${one.endedMs ? duration(one.endedMs - one.startedMs) : ''}</td>
      <td>${one.progress ? html`<${Progress} progress=${one.progress} />` : ''}</td></tr>`)}</tbody></table></div>`;
}

/** @param {any} props */
function Status({ one }) {
  const [words, tone] = STATUS[one.status] ?? [one.status, 'idle'];
  return html`<span class=${`badge t-${tone}`} role="status">${words}</span>`;
}

/** @param {any} props */
function Progress({ progress }) {
  if (progress.elapsedMs === undefined) return html`<span class="faint">begins…</span>`;
  return html`<span class="faint">${seconds(progress.elapsedMs / 1000)} of virtual time, ${progress.arrived.toLocaleString('en-GB')} arrived, ${progress.open.toLocaleString('en-GB')} under way</span>`;
}

/** @param {any} props */
function Result({ id, other, server }) {
  const [every, setEvery] = useState(EVERY_MS);
  const { found, problem, again } = useRead('simulations/one', { id }, { every });
  const second = useRead(other ? 'simulations/one' : null, { id: other });
  const [isDeleting, setDeleting] = useState(false);
  const { isBusy, problem: refused, run } = useAction();
  const isRunning = found?.status === 'running';
  useEffect(() => {
    if (found && !isRunning) setEvery(0);
  }, [found, isRunning]);
  if (problem && !found) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const { result } = found;
  const stop = () => run(async () => {
    await act('simulations/stop', { id });
    again();
  });
  return html`<div class="results"><header class="head"><div class="crumbs"><a href=${format('simulations')}>Simulations</a></div><div class="title"><h1><bdi>${found.name}</bdi></h1><${Status} one=${found} />${found.progress ? html`<${Progress} progress=${found.progress} />` : null}
      <div class="actions">${isRunning ? html`<button class="action" disabled=${isBusy || !server?.mayWrite} onClick=${stop}>Stop</button>` : null}
        ${result ? html`<button class="action" disabled=${isBusy} onClick=${() => run(() => download('simulations/page', { id }, `${found.name}.html`))}>Save the page</button>` : null}
        <button class="action" onClick=${() => downloadText(found.scenario, 'scenario.yaml')}>Save the scenario</button>
        ${isRunning ? null : html`<button class="action" disabled=${!server?.mayWrite} onClick=${() => setDeleting(true)}>Delete</button>`}</div></div></header>
    ${refused ? html`<p class="fail" role="alert">${refused.message}</p>` : null}
    ${isDeleting ? html`<${Confirm} title="Delete the result" words=${html`The result of <b><bdi>${found.name}</bdi></b> and its scenario are deleted.`} verb="Delete" onClose=${() => setDeleting(false)} onConfirm=${async () => {
      await act('simulations/delete', { id });
      go(format('simulations'));
    }} />` : null}
    ${found.message && !result ? html`<pre class="card raw">${found.message}</pre>` : null}
    ${result ? html`<${Compare} id=${id} other=${other} />${second.problem ? html`<p class="fail" role="alert">${second.problem.message}</p>` : null}
      ${result.runs ? html`<p class="card pad">This result is a comparison of runs; save its page to see it.</p>` : html`<${Shown} result=${result} other=${second.found?.result ?? null} otherName=${second.found?.name ?? ''} />`}` : null}
    <details class="card pad"><summary>Scenario</summary><pre class="raw">${found.scenario}</pre>${Object.entries(found.files).map(([name, text]) => html`<h3>${name}</h3><pre class="raw">${String(text).slice(0, 20000)}</pre>`)}</details></div>`;
}

/** Which result stands beside this one. @param {any} props */
function Compare({ id, other }) {
  const [all, setAll] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    read('simulations', {}, stop.signal).then((found) => setAll(found.simulations.filter((/** @type {any} */ one) => one.id !== id && (one.status === 'done' || one.status === 'given up'))), () => undefined);
    return () => stop.abort();
  }, [id]);
  if (!all.length) return null;
  return html`<label class="beside">Compare with <select value=${other} onChange=${(/** @type {any} */ event) => go(format('simulations', id, { with: event.target.value || null }), true)}><option value="">nothing</option>
    ${all.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === other}>${one.name}, ${iso(one.startedMs).slice(0, 16).replace('T', ' ')}</option>`)}</select></label>`;
}

/** @param {any} props */
function Shown({ result, other, otherName }) {
  const facts = factsOf(result);
  const beside = new Map(other ? factsOf(other) : []);
  const names = [...facts.map(([name]) => name), ...[...beside.keys()].filter((name) => !facts.some(([one]) => one === name))];
  const own = new Map(facts);
  return html`<div class="card scroll"><table class="list"><caption class="unseen">Outcomes</caption><thead><tr><th>Outcome</th><th class="end">${other ? 'This one' : ''}</th>${other ? html`<th class="end"><bdi>${otherName}</bdi></th>` : null}</tr></thead>
      <tbody>${names.map((name) => html`<tr key=${name} class=${other && own.get(name) !== beside.get(name) ? 'differs' : ''}><td><bdi>${name}</bdi></td><td class="end">${own.get(name) ?? '—'}</td>${other ? html`<td class="end">${beside.get(name) ?? '—'}${own.get(name) !== beside.get(name) ? html` <span class="unseen">differs</span>` : ''}</td>` : null}</tr>`)}</tbody></table></div>
    ${result.cost.hints.length ? html`<div class="card pad"><h3>Advice</h3><ul>${result.cost.hints.map((/** @type {string} */ hint) => html`<li>${hint}</li>`)}</ul></div>` : null}
    <div class="charts">${result.charts.map((/** @type {any} */ chart) => html`<${Chart} key=${chart.title} chart=${chart} end=${result.virtualSeconds} other=${other?.charts.find((/** @type {any} */ one) => one.title === chart.title)} otherEnd=${other?.virtualSeconds ?? 0} />`)}</div>
    <p class="faint">${[...result.notes, ...result.cost.notes].join(' · ')} Costs are an estimate at prices of ${result.cost.prices.date}, ${result.cost.prices.region}.</p>`;
}
