// The list of state machines: by name, with their executions, their day and their latest statuses.

import { html, useEffect, useState } from './vendor.js';
import { count, duration, instant, iso, plural, zoneName } from './format.js';
import { Spark } from './histogram.js';
import { Icon } from './icons.js';
import { sum } from './list_model.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { machineAddress } from './targets.js';

const PAUSE_MS = 250;
const EVERY_MS = 60_000;
const LIST_MS = 10_000;
const PAGE_ROWS = 50;
const MOST_ROWS = 200;
/** @type {Record<string, [string, string]>} */
const STATUS = { SUCCEEDED: ['ok', 'succeeded'], FAILED: ['fail', 'failed'], TIMED_OUT: ['fail', 'timed out'], ABORTED: ['idle', 'aborted'], RUNNING: ['run', 'running'], PENDING_REDRIVE: ['run', 'pending redrive'] };

/** @param {{route: any}} props */
export function Page({ route: { query } }) {
  const name = query.name ?? '';
  const [typed, setTyped] = useState(name);
  const [limit, setLimit] = useState(PAGE_ROWS);
  const [last, setLast] = useState(/** @type {any} */ (null));
  const { found: now, problem, again } = useRead('machines', { name, limit }, /** @type {any} */ ({ every: LIST_MS, live: 'machines' }));
  // A longer list, or another one, is shown once it is there.
  useEffect(() => (now ? setLast(now) : undefined), [now]);
  const found = now ?? last;
  const rows = found?.machines;
  const days = useRead('machines/days', { name, limit }, { every: EVERY_MS }).found?.machines ?? {};
  useEffect(() => setTyped(name), [name]);
  useEffect(() => {
    if (typed === name) return undefined;
    const timer = setTimeout(() => go(format('machines', '', { name: typed }), true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<header class="head list-head"><h1>State machines</h1></header>
    <section class="card board" aria-label="State machines"><div class="filters"><div class="searching" role="search"><input type="search" aria-label="Name of a state machine" placeholder="Name" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></div></div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!rows ? (problem ? null : html`<p class="faint pad">Reading…</p>`) : !rows.length ? html`<${Nothing} name=${name} />` : html`<div class="scroll grow rows"><table class="list machines">
      <thead><tr><th>Name</th><th>Type</th><th>Latest</th><th>Last 24 h</th><th class="end">Running</th><th class="end">Failed</th><th class="end">Failing, 24 h</th><th class="end">p50</th><th class="end">p95</th><th>Created (${zoneName()})</th></tr></thead>
      <tbody>${rows.map((/** @type {any} */ one) => html`<${One} key=${one.arn} machine=${one} day=${days[one.arn]} />`)}</tbody></table>
      ${!found.next ? null : limit < MOST_ROWS ? html`<button class="more" disabled=${!now} onClick=${() => setLimit(limit + PAGE_ROWS)}>Show more</button>` : html`<p class="faint pad">These are ${MOST_ROWS} of ${count(found.total)}. The others are found by their names.</p>`}</div>`}</section>`;
}

/** @param {{name: string}} props */
function Nothing({ name }) {
  if (name) return html`<div class="empty"><p>No state machine has <b><bdi>${name}</bdi></b> in its name. <a href=${format('machines')}>Show all</a></p></div>`;
  return html`<div class="empty"><h2>No state machine yet</h2><p>Deploy a project with <code>statewright deploy</code>, or create one with any AWS SDK.</p></div>`;
}

/** @param {{machine: any, day: any}} props */
function One({ machine, day }) {
  const { counts } = machine;
  const failed = (counts.FAILED ?? 0) + (counts.TIMED_OUT ?? 0) + (counts.ABORTED ?? 0);
  const started = day ? sum(day.started) : 0;
  const fails = day ? sum(day.failed) : 0;
  const to = (/** @type {Record<string, string>} */ query) => format('executions', '', { machine: machine.arn, ...query });
  return html`<tr><td class="name"><a href=${machineAddress(machine.arn)}><bdi>${machine.name}</bdi></a>${machine.version ? html` <span class="faint">:${machine.version}</span>` : null}${machine.isDeleting ? html` <span class="badge t-wait">Deleting</span>` : null}</td>
    <td>${machine.type === 'STANDARD' ? 'Standard' : html`<span class="t-icon"><${Icon} name="bolt" size=${12} /> Express</span>`}</td>
    <td>${machine.last.length ? html`<a href=${to({})} aria-label=${`Executions of ${machine.name}; the latest, newest first: ${machine.last.map((/** @type {string} */ one) => STATUS[one]?.[1] ?? one).join(', ')}`}><span class="strip" title="The oldest of these on the left">${[...machine.last].reverse().map((/** @type {string} */ one, /** @type {number} */ place) => html`<i key=${place} class=${`s-${STATUS[one]?.[0] ?? 'idle'}`}></i>`)}</span></a>` : html`<span class="faint">none</span>`}</td>
    <td>${started || fails ? html`<${Spark} started=${day.started} failed=${day.failed} label=${`${plural(started, 'start')} in the last 24 hours, ${fails} failed`} />` : html`<span class="faint">none</span>`}</td>
    <td class="end">${counts.RUNNING ? html`<a href=${to({ status: 'RUNNING' })}>${count(counts.RUNNING)}</a>` : '0'}</td>
    <td class="end">${failed ? html`<a href=${to({ status: 'failed' })}>${count(failed)}</a>` : '0'}</td>
    <td class="end">${started ? html`<span class=${fails ? 'fail' : ''}>${Math.round((1000 * fails) / Math.max(started, fails)) / 10} %</span>` : html`<span class="faint">–</span>`}</td>
    <td class="end">${day && day.p50Ms !== null ? duration(day.p50Ms) : html`<span class="faint">–</span>`}</td>
    <td class="end">${day && day.p95Ms !== null ? duration(day.p95Ms) : html`<span class="faint">–</span>`}</td>
    <td title=${iso(machine.createdMs)}>${instant(machine.createdMs)}</td></tr>`;
}
