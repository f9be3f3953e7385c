// Express executions of a machine, recorded while this page is open.

import { html, useEffect, useState } from './vendor.js';
import { readLines } from './api.js';
import { ago, duration, iso, plural } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { Problem } from './parts.js';
import { format } from './route.js';

const AGAIN_MS = 2000;

/** @param {any} props */
export function Page({ route: { id: arn } }) {
  const [isOn, setOn] = useState(true);
  const { runs, most, problem, isWatching, again } = useRecording(arn, isOn);
  const name = arn.split(':')[6] ?? arn;
  const rows = [...runs.values()].sort((one, other) => other.startedMs - one.startedMs);
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a><span>/</span><bdi>${name}</bdi></div>
    <div class="title"><h1>Express executions of <bdi>${name}</bdi></h1><span class=${`badge ${isWatching ? 't-fail' : 't-idle'}`} role="status"><${Icon} name=${isWatching ? 'circle' : 'pause'} size=${12} />${isWatching ? 'Recording' : 'Not recording'}</span>
      <div class="actions"><button class=${isOn ? 'action' : 'action primary'} onClick=${() => setOn(!isOn)}>${isOn ? 'Stop recording' : 'Record while I watch'}</button></div></div></header>
    <p class="summary">Express executions keep no history. Those that begin while this page is open are recorded in the server's memory, the last ${most.toLocaleString('en-GB')} of them; they are gone two hours after the last page was closed, or when the server stops.</p>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${rows.length ? html`<div class="insight"><div class="card scroll"><table class="list"><thead><tr><th>Name</th><th>Status</th><th>Started</th><th class="end">Took</th><th class="end">Events</th><th>Error</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.arn}><td class="name"><a href=${format('execution', row.arn)}><bdi>${row.name}</bdi></a>${row.isWhole ? '' : html` <span class="faint">recorded in part</span>`}</td><td><${StatusBadge} status=${row.status} /></td>
        <td><time title=${iso(row.startedMs)}>${ago(row.startedMs, row.nowMs)}</time></td><td class="end">${duration(row.tookMs)}</td><td class="end">${row.events.toLocaleString('en-GB')}</td><td class="error"><bdi>${row.error ?? ''}</bdi></td></tr>`)}</tbody></table></div>
      <p class="faint">${plural(rows.length, 'execution')} recorded.</p></div>`
      : problem ? null : html`<div class="empty card"><h2>${isWatching ? 'Nothing has begun yet' : 'Nothing is recorded'}</h2><p>${isWatching ? html`Start an execution: <code>${`statewright run ${name} -i '{}'`}</code>` : 'Executions that begin while the page records are shown here.'}</p></div>`}`;
}

/** @param {string} arn @param {boolean} isOn */
function useRecording(arn, isOn) {
  const [runs, setRuns] = useState(/** @type {Map<string, any>} */ (new Map()));
  const [most, setMost] = useState(200);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isWatching, setWatching] = useState(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!isOn) return undefined;
    const stop = new AbortController();
    let timer = 0;
    const take = (/** @type {any} */ { rows, most: limit, nowMs }) => {
      setWatching(true);
      setProblem(null);
      setMost(limit);
      setRuns((/** @type {Map<string, any>} */ before) => {
        const after = new Map(before);
        for (const row of rows) {
          after.delete(row.arn);
          after.set(row.arn, { ...row, nowMs });
        }
        for (const old of [...after.keys()].slice(0, Math.max(0, after.size - limit))) after.delete(old);
        return after;
      });
    };
    const watch = async () => {
      try {
        await readLines('express/watch', { arn }, take, stop.signal);
      } catch (failure) {
        if (stop.signal.aborted) return;
        setProblem(failure);
        if (/** @type {any} */ (failure).status >= 400 && /** @type {any} */ (failure).status < 500) {
          setWatching(false);
          return;
        }
      }
      setWatching(false);
      if (!stop.signal.aborted) timer = setTimeout(watch, AGAIN_MS);
    };
    watch();
    return () => {
      clearTimeout(timer);
      stop.abort();
      setWatching(false);
    };
  }, [arn, isOn, turn]);
  return { runs, most, problem, isWatching, again: () => setTurn(turn + 1) };
}
