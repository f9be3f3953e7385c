// The deploy check: the last executions of a machine replayed on a definition, and those that change.

import { html, useEffect, useRef, useState } from './vendor.js';
import { actLines } from './api.js';
import { ago, iso, plural } from './format.js';
import { StatusBadge, ToneBadge } from './icons.js';
import { format } from './route.js';

const MOST = 1000;
const MOST_ROWS = 200;
const TONES = /** @type {Record<string, [string, string]>} */ ({ changed: ['caught', 'Changes'], unjudged: ['wait', 'Not judged'], same: ['ok', 'Same'] });

/** @param {any} props */
export function Batch({ machine, other, text, arn }) {
  const [last, setLast] = useState('100');
  const [state, setState] = useState(/** @type {any} */ (null));
  const stop = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => stop.current?.abort(), []);
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    stop.current?.abort();
    const mine = stop.current = new AbortController();
    let found = { total: 0, done: false, counts: { same: 0, changed: 0, unjudged: 0 }, rows: /** @type {any[]} */ ([]), problem: /** @type {Error | null} */ (null), text };
    const show = (/** @type {any} */ change) => {
      found = { ...found, ...change };
      if (!mine.signal.aborted) setState(found);
    };
    show({});
    try {
      await actLines('what-if/batch', { machineArn: machine, ...other, last: Math.min(MOST, Math.max(1, Math.round(Number(last)) || 100)) }, (line) => {
        if (line.total !== undefined) show({ total: line.total });
        else if (line.done) show({ done: true });
        else show({ counts: { ...found.counts, [line.verdict]: found.counts[/** @type {'same'} */ (line.verdict)] + 1 }, rows: line.verdict === 'same' ? found.rows : [...found.rows, line] });
      }, mine.signal);
    } catch (problem) {
      show({ problem, done: true });
    }
  };
  const seen = state ? state.counts.same + state.counts.changed + state.counts.unjudged : 0;
  return html`<section class="card batch" aria-label="Deploy check"><header><h2>${arn ? 'Would others change, too?' : 'Would executions change?'}</h2>
      <form onSubmit=${run}><label>Replay the last <input type="number" min="1" max=${MOST} value=${last} onInput=${(/** @type {any} */ event) => setLast(event.target.value)} /></label> executions on this definition
        <button class="action" disabled=${state && !state.done}>${state && !state.done ? 'Checking…' : 'Check'}</button>
        ${state && !state.done ? html`<button type="button" class="action" onClick=${() => {
          stop.current?.abort();
          setState({ ...state, done: true, isStopped: true });
        }}>Stop</button>` : null}</form></header>
    ${state ? html`<p class="pad" role="status">${state.problem ? html`<span class="fail">${state.problem.message}</span>` : html`<${Counts} state=${state} seen=${seen} />`}</p>` : null}
    ${state && state.text !== text ? html`<p class="faint pad">The text was edited since.</p>` : null}
    ${state?.rows.length ? html`<div class="scroll"><table class="list"><thead><tr><th>Execution</th><th>Recorded</th><th>On this definition</th><th>What changes first</th></tr></thead><tbody>
      ${state.rows.slice(0, MOST_ROWS).map((/** @type {any} */ row) => html`<tr key=${row.arn} class=${row.arn === arn ? 'on' : ''}><td class="name"><a href=${format('what-if', row.arn)}><bdi>${row.name}</bdi></a> <span class="faint" title=${iso(row.startedMs)}>${ago(row.startedMs, Date.now())}</span></td>
        <td><${StatusBadge} status=${row.status} /></td><td><${ToneBadge} tone=${TONES[row.verdict][0]} words=${TONES[row.verdict][1]} /></td><td><bdi>${row.reason ?? row.changes[0]?.words ?? ''}</bdi></td></tr>`)}</tbody></table></div>` : null}
    ${state && state.rows.length > MOST_ROWS ? html`<p class="faint pad">${plural(state.rows.length - MOST_ROWS, 'more execution')} not shown. <code>statewright machine check</code> lists all.</p>` : null}</section>`;
}

/** @param {any} props */
function Counts({ state, seen }) {
  const { same, changed, unjudged } = state.counts;
  if (state.done && !seen) return html`${state.isStopped ? 'Stopped.' : 'This machine has no execution yet.'}`;
  return html`${state.done ? '' : `${seen} of ${state.total}: `}<b>${plural(changed, 'execution changes', 'executions change')}</b>, ${plural(same, 'stays', 'stay')} the same${unjudged ? html`, <b>${plural(unjudged, 'could not', 'could not')} be judged</b>` : ''}.${state.isStopped ? ' Stopped.' : ''}`;
}
