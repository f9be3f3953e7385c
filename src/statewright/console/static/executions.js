// The list of executions, newest first, of all machines or one.

import { html, useEffect, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { go } from './navigation.js';
import { ago, duration, instant, iso } from './format.js';
import { StatusBadge } from './icons.js';
import { useLive } from './live.js';
import { Problem } from './parts.js';
import { format } from './route.js';

const STATUSES = [['', 'All'], ['RUNNING', 'Running'], ['SUCCEEDED', 'Succeeded'], ['FAILED', 'Failed'],
  ['TIMED_OUT', 'Timed out'], ['ABORTED', 'Aborted']];

const FIRST_ROWS = 50;

/** @param {{route: any}} props */
export function Page({ route }) {
  const { status = '', machine = '' } = route.query;
  const [rows, setRows] = useState(/** @type {any[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [isReading, setReading] = useState(false);
  const current = useRef(new AbortController());
  const load = async (/** @type {string | null} */ cursor) => {
    const { signal } = current.current;
    setReading(true);
    try {
      const found = await read('executions', { status, machine, cursor }, signal);
      if (signal.aborted) return;
      setRows((/** @type {any[] | null} */ before) => (cursor && before ? [...before, ...found.executions] : found.executions));
      setNext(found.next);
      setProblem(null);
    } catch (failure) {
      if (signal.aborted) return;
      setProblem(/** @type {Error} */ (failure));
    }
    setReading(false);
  };
  useEffect(() => {
    const stop = new AbortController();
    current.current = stop;
    setRows(null);
    setNext(null);
    load(null);
    return () => stop.abort();
  }, [status, machine]);
  // Who has read on keeps the rows that are being read.
  useLive('list', () => (!isReading && (!rows || rows.length <= FIRST_ROWS) ? load(null) : undefined));
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a>${machine ? html`<span>/</span>${machine.split(':').pop()}` : null}</div>
    <h1>Executions</h1></header>
    <div class="tabs pill" role="group" aria-label="Status">${STATUSES.map(([value, words]) => html`<button
      aria-pressed=${value === status} onClick=${() => go(format('executions', '', { status: value, machine }))}>${words}</button>`)}</div>
    ${problem ? html`<${Problem} problem=${problem} again=${() => load(rows ? next : null)} />` : null}
    ${rows ? html`<${Rows} rows=${rows} filtered=${Boolean(status || machine)} />` : problem ? null : html`<p class="faint">Reading…</p>`}
    ${next ? html`<button class="more" disabled=${isReading} onClick=${() => load(next)}>Show older executions</button>` : null}`;
}

/** @param {{rows: any[], filtered: boolean}} props */
function Rows({ rows, filtered }) {
  if (!rows.length) {
    return html`<div class="empty card">${filtered
      ? html`<p>No execution matches. <a href=${format('executions')}>Show all</a></p>`
      : html`<h2>Nothing has run yet</h2><p>Start an execution with any AWS SDK, or with <code>statewright execution start MACHINE</code>.</p>`}</div>`;
  }
  const now = Date.now();
  return html`<div class="card scroll"><table class="list"><thead><tr><th>Execution</th><th>Status</th><th>State machine</th><th>Started (UTC)</th><th class="end">Took</th><th>Error</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.arn}>
      <td class="name">${row.type === 'EXPRESS' ? html`${row.name} <span class="faint">Express</span>` : html`<a href=${format('execution', row.arn)}>${row.name}</a>`}</td>
      <td><${StatusBadge} status=${row.status} /></td><td>${row.machine}</td>
      <td title=${iso(row.startedMs)}>${instant(row.startedMs)} <span class="faint">${ago(row.startedMs, now)}</span></td>
      <td class="end">${row.stoppedMs === null ? html`<span class="faint">${duration(Math.max(0, now - row.startedMs))} so far</span>` : duration(row.stoppedMs - row.startedMs)}</td>
      <td class="error">${row.error ?? ''}</td></tr>`)}</tbody></table></div>`;
}
