// The history, a page at a time, with a text to look for.

import { html, useEffect, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { offset } from './format.js';

const TYPING_MS = 150;
const MOST_FOLLOWED = 200;

/** @param {any} props */
export function Events({ run, arn, at, onAt }) {
  const [text, setText] = useState('');
  const [held, setHeld] = useState(/** @type {any} */ ({ rows: null, next: null, problem: null }));
  const [isReading, setReading] = useState(false);
  const current = useRef(new AbortController());
  const seen = useRef(0);
  const load = async (/** @type {number} */ from, /** @type {any[]} */ before) => {
    const { signal } = current.current;
    setReading(true);
    seen.current = run.length;
    try {
      const page = await read('run/events', { arn, from, text }, signal);
      if (signal.aborted) return;
      setHeld({ rows: [...before, ...page.rows], next: page.next, problem: null });
    } catch (problem) {
      if (signal.aborted) return;
      setHeld({ rows: before, next: from, problem });
    }
    setReading(false);
  };
  useEffect(() => {
    const stop = new AbortController();
    current.current = stop;
    const timer = setTimeout(() => load(1, []), text ? TYPING_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [arn, text]);
  useEffect(() => {
    // A list that was read to its end goes on as the run does, until it is long.
    if (isReading || held.problem || !held.rows || held.next || run.length <= seen.current) return;
    if (held.rows.length < MOST_FOLLOWED) load(seen.current + 1, held.rows);
    else setHeld({ ...held, next: seen.current + 1 });
  }, [run.length, isReading]);
  return html`<div class="events grow"><label class="find">Find <input type="search" value=${text} placeholder="type, state, error, payload" onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <div class="scroll grow"><table class="list"><thead><tr><th class="end">Event</th><th class="end">Time</th><th>Type</th><th>Details</th></tr></thead>
      <tbody>${(held.rows ?? []).map((/** @type {any} */ row) => html`<tr key=${row.id} class=${row.id === at ? 'on' : ''}><td class="end"><button class="link" onClick=${() => onAt(row.id)}>${row.id}</button></td>
        <td class="end">${offset(row.atMs - run.head.startedMs)}</td><td>${row.type}</td><td class="mono">${words(row.details)}</td></tr>`)}</tbody></table>
      ${held.rows && !held.rows.length && !held.problem ? html`<p class="faint pad">No event contains this.</p>` : null}
      ${held.problem ? html`<p class="fail pad" role="alert">${held.problem.message}</p>` : null}
      ${held.next ? html`<button class="more" disabled=${isReading} onClick=${() => load(held.next, held.rows)}>${held.problem ? 'Try again' : 'Show more events'}</button>` : null}</div></div>`;
}

/** @param {Record<string, unknown>} details */
function words(details) {
  return Object.entries(details).map(([name, value]) => `${name}: ${value}`).join(' · ').slice(0, 500);
}
