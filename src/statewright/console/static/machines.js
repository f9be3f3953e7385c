// The list of state machines, with the number of executions in each status.

import { html, useEffect, useState } from './vendor.js';
import { read } from './api.js';
import { count, instant, iso } from './format.js';
import { useLive } from './live.js';
import { Problem } from './parts.js';
import { format } from './route.js';

const FIRST_ROWS = 200;

export function Page() {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [isReading, setReading] = useState(false);
  const load = async (/** @type {string | null} */ cursor) => {
    setReading(true);
    try {
      const page = await read('machines', { cursor });
      setFound((/** @type {any} */ before) => ({ machines: [...(cursor ? before.machines : []), ...page.machines], next: page.next }));
      setProblem(null);
    } catch (failure) {
      setProblem(/** @type {Error} */ (failure));
    }
    setReading(false);
  };
  useEffect(() => {
    load(null);
  }, []);
  useLive('machines', () => (isReading || (found && !found.next && found.machines.length > FIRST_ROWS) ? undefined : load(null)));
  return html`<header class="head"><h1>State machines</h1></header>
    ${problem ? html`<${Problem} problem=${problem} again=${() => load(found?.next ?? null)} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : !found.machines.length
      ? html`<div class="empty card"><h2>No state machine yet</h2><p>Deploy a project with <code>statewright deploy</code>, or create one with any AWS SDK.</p></div>`
      : html`<div class="card scroll"><table class="list"><thead><tr><th>Name</th><th>Type</th><th class="end">Running</th><th class="end">Succeeded</th><th class="end">Failed</th><th>Created (UTC)</th></tr></thead>
      <tbody>${found.machines.map((/** @type {any} */ one) => html`<tr key=${one.arn}>
        <td class="name">${one.type === 'STANDARD' ? html`<a href=${format('executions', '', { machine: one.arn })}>${one.name}</a>` : one.name}</td>
        <td>${one.type === 'STANDARD' ? 'Standard' : 'Express'}</td>
        <td class="end">${count(one.counts.RUNNING ?? 0)}</td><td class="end">${count(one.counts.SUCCEEDED ?? 0)}</td>
        <td class="end">${count((one.counts.FAILED ?? 0) + (one.counts.TIMED_OUT ?? 0) + (one.counts.ABORTED ?? 0))}</td>
        <td title=${iso(one.createdMs)}>${instant(one.createdMs)}</td></tr>`)}</tbody></table></div>
      ${found.next ? html`<button class="more" disabled=${isReading} onClick=${() => load(found.next)}>Show more</button>` : null}`}`;
}
