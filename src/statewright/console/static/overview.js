// The first page: what runs, what failed in the last day, and what to look at.

import { html } from './vendor.js';
import { ago, count, duration, iso, moment, plural } from './format.js';
import { StatusBadge } from './icons.js';
import { sum } from './list_model.js';
import { PAGES } from './pages.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const TALL = 90;

export function Page() {
  const { found, problem, again } = useRead('overview', {}, { every: EVERY_MS });
  return html`<header class="head list-head"><h1>Overview</h1></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${found ? html`<${Parts} found=${found} />` : problem ? null : html`<p class="faint">Reading…</p>`}`;
}

/** @param {{found: any}} props */
function Parts({ found }) {
  if (!found.machines) {
    return html`<div class="empty card"><h2>Nothing is deployed yet</h2><p>Deploy a project with <code>statewright deploy</code>, begin one with <code>statewright init</code>, or create a state machine with any AWS SDK at this address.</p></div>`;
  }
  const { counts, waiting, chart, nowMs: now } = found;
  const started = sum(chart.started);
  const failed = sum(chart.failed);
  const list = (/** @type {Record<string, string | number>} */ query) => format('executions', '', query);
  return html`<div class="tiles">
      <${Tile} tone=${counts.RUNNING ? 'busy' : ''} number=${count(counts.RUNNING ?? 0)} words="running" address=${list({ status: 'RUNNING' })} />
      <${Tile} tone=${waiting.atLeast ? 'slow' : ''} number=${`${count(waiting.atLeast)}${waiting.isWhole ? '' : '+'}`} words=${waiting.isWhole ? 'without an event for an hour' : `without an event for an hour, of the ${waiting.looked} oldest`} address=${list({ waiting: HOUR_MS })} />
      <${Tile} tone=${failed ? 'bad' : ''} number=${count(failed)} words="failed in 24 hours" address=${list({ status: 'failed', within: DAY_MS })} />
      <${Tile} tone="" number=${count(started)} words="started in 24 hours" address=${list({ within: DAY_MS })} />
      ${counts.PENDING_REDRIVE ? html`<${Tile} tone="slow" number=${count(counts.PENDING_REDRIVE)} words="pending redrive" address=${list({ status: 'PENDING_REDRIVE' })} />` : null}
    </div>
    <${Day} chart=${chart} now=${now} />
    <div class="cards">
      <${Card} title="Oldest running" address=${list({ status: 'RUNNING' })} rows=${found.oldest} none="Nothing runs." row=${(/** @type {any} */ one) => html`<td><${Name} one=${one} /></td><td><bdi>${one.machine}</bdi></td><td title=${iso(one.startedMs)}>for ${duration(Math.max(0, now - one.startedMs))}</td>`} />
      <${Card} title="Latest failures" address=${list({ status: 'failed' })} rows=${found.failures} none="Nothing has failed." row=${(/** @type {any} */ one) => html`<td><${Name} one=${one} /></td><td title=${one.cause ?? ''}>${one.error ? html`<span class="fail"><bdi>${one.error}</bdi></span>` : html`<${StatusBadge} status=${one.status} />`}</td><td title=${iso(one.startedMs)}>${ago(one.stoppedMs ?? one.startedMs, now)}</td>`} />
      <${Card} title="Deepest queues" address=${Object.hasOwn(PAGES, 'queues') ? format('queues') : ''} rows=${found.queues} none="No queue has messages." row=${(/** @type {any} */ one) => html`<td><bdi>${one.name}</bdi></td><td></td><td>${plural(one.visible, 'message')}</td>`} />
      <${Card} title="Throttled functions, 24 hours" address=${Object.hasOwn(PAGES, 'functions') ? format('functions') : ''} rows=${found.throttled} none="No function was throttled." row=${(/** @type {any} */ one) => html`<td><bdi>${one.name}</bdi></td><td></td><td>${plural(one.throttles, 'time')}</td>`} />
      ${found.quarantined.count ? html`<${Card} title=${`Held back by a bug in Statewright: ${found.quarantined.count}`} address="" rows=${found.quarantined.executions} none="" row=${(/** @type {any} */ one) => html`<td><${Name} one=${one} /></td><td class="fail" title=${one.reason}><bdi>${one.reason}</bdi></td><td title=${iso(one.startedMs)}>${ago(one.startedMs, now)}</td>`} />` : null}
    </div>`;
}

/** @param {{tone: string, number: string, words: string, address: string}} props */
function Tile({ tone, number, words, address }) {
  return html`<a class=${`card tile-card ${tone}`} href=${address}><b>${number}</b><span>${words}</span></a>`;
}

/** @param {{one: any}} props */
function Name({ one }) {
  return one.type === 'EXPRESS' ? html`<bdi>${one.name}</bdi>` : html`<a href=${format('execution', one.arn)} title=${one.name}><bdi>${one.name}</bdi></a>`;
}

/** @param {{title: string, address: string, rows: any[], none: string, row: (one: any) => any}} props */
function Card({ title, address, rows, none, row }) {
  return html`<section class="card" aria-label=${title}><header><h2>${title}</h2>${address ? html`<a href=${address} aria-label=${`All of: ${title}`}>Show all</a>` : null}</header>
    ${rows.length ? html`<table class="short"><tbody>${rows.map((one) => html`<tr key=${one.arn ?? one.name}>${row(one)}</tr>`)}</tbody></table>` : html`<p class="faint pad">${none}</p>`}</section>`;
}

/** @param {{chart: any, now: number}} props */
function Day({ chart, now }) {
  const { started, failed, fromMs, stepMs } = chart;
  const most = Math.max(1, ...started, ...failed);
  const tall = (/** @type {number} */ n) => (n ? Math.max(2, (n / most) * (TALL - 6)) : 0);
  const words = `Last 24 hours: ${plural(sum(started), 'start')}, ${plural(sum(failed), 'failure')}; at most ${plural(most, 'start')} in an hour`;
  return html`<section class="card day" aria-label="Last 24 hours"><header><h2>Last 24 hours</h2><div class="legend"><span><i></i>started ${count(sum(started))}</span><span><i class="s-fail"></i>failed ${count(sum(failed))}</span><span>highest hour ${count(Math.max(0, ...started))}</span><span>from metrics, with child executions of Maps</span></div></header>
    <svg viewBox=${`0 0 ${started.length * 20} ${TALL}`} preserveAspectRatio="none" role="img" aria-label=${words}><path class="h-line" d=${`M0 ${TALL - 0.5}H${started.length * 20}`} />
      ${started.map((/** @type {number} */ n, /** @type {number} */ place) => html`<g><title>${`${moment(fromMs + place * stepMs, now)}: ${n} started, ${failed[place]} failed`}</title><rect fill="transparent" x=${place * 20} y="0" width="20" height=${TALL} /><rect class="h-idle" x=${place * 20 + 2} y=${TALL - tall(n)} width="9" height=${tall(n)} /><rect class="h-fail" x=${place * 20 + 11} y=${TALL - tall(failed[place])} width="6" height=${tall(failed[place])} /></g>`)}</svg>
    <div class="ends"><span title=${iso(fromMs)}>${moment(fromMs, now)}</span><span>now</span></div>
    <details><summary>As a table</summary><table><thead><tr><th>Hour from</th><th>Started</th><th>Failed</th></tr></thead><tbody>${started.map((/** @type {number} */ n, /** @type {number} */ place) => html`<tr><td title=${iso(fromMs + place * stepMs)}>${moment(fromMs + place * stepMs, now)}</td><td>${n}</td><td>${failed[place]}</td></tr>`)}</tbody></table></details></section>`;
}
