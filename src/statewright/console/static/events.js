// The history, a page at a time, with a text to look for.

import { html, useEffect, useState } from './vendor.js';
import { read } from './api.js';
import { offset } from './format.js';

/** @param {any} props */
export function Events({ run, arn, at, onAt }) {
  const [text, setText] = useState('');
  const [held, setHeld] = useState(/** @type {any} */ ({ rows: null, next: null, problem: null }));
  const load = (/** @type {number} */ from, /** @type {any[]} */ before, /** @type {AbortSignal} */ signal) => read('run/events', { arn, from, text }, signal)
    .then((page) => setHeld({ rows: [...before, ...page.rows], next: page.next, problem: null }))
    .catch((problem) => (signal.aborted ? null : setHeld({ rows: before, next: null, problem })));
  useEffect(() => {
    const stop = new AbortController();
    load(1, [], stop.signal);
    return () => stop.abort();
  }, [arn, text, run.length]);
  return html`<div class="events grow"><label class="find">Find <input type="search" value=${text} placeholder="type, state, error, payload" onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <div class="scroll grow"><table class="list"><thead><tr><th class="end">Event</th><th class="end">Time</th><th>Type</th><th>Details</th></tr></thead>
      <tbody>${(held.rows ?? []).map((/** @type {any} */ row) => html`<tr key=${row.id} class=${row.id === at ? 'on' : ''}><td class="end"><button class="link" onClick=${() => onAt(row.id)}>${row.id}</button></td>
        <td class="end">${offset(row.atMs - run.head.startedMs)}</td><td>${row.type}</td><td class="mono">${words(row.details)}</td></tr>`)}</tbody></table>
      ${held.rows && !held.rows.length && !held.problem ? html`<p class="faint pad">No event contains this.</p>` : null}
      ${held.problem ? html`<p class="fail pad" role="alert">${held.problem.message}</p>` : null}
      ${held.next ? html`<button class="more" onClick=${() => load(held.next, held.rows, new AbortController().signal)}>Show more events</button>` : null}</div></div>`;
}

/** @param {Record<string, unknown>} details */
function words(details) {
  return Object.entries(details).map(([name, value]) => `${name}: ${value}`).join(' · ').slice(0, 500);
}
