// The tab "Logs" of a state: what the function said in this visit, and the log of the state machine.

import { html, useEffect, useState } from './vendor.js';
import { lookOf } from './log_lines.js';
import { iso } from './format.js';
import { useRead } from './reading.js';
import { format } from './route.js';

const REST_MS = 150;
/** @type {Record<string, string>} */
const LOOKS = { bad: 'fail', faint: 'faint', '': '' };

/** @param {{run: any, state: any, visit: any, isOver: boolean}} props */
export function StateLogs({ run, state, visit, isOver }) {
  const [isRested, setRested] = useState(false);
  useEffect(() => {
    // Visits that a run only passes, as it plays, are not read.
    const timer = setTimeout(() => setRested(true), REST_MS);
    return () => clearTimeout(timer);
  }, []);
  const query = { arn: run.head.arn, event: visit.begin, end: isOver ? visit.end : 0 };
  const { found, problem } = useRead(isRested ? 'run/logs' : null, query, { every: isOver ? 0 : 2000 });
  if (problem) return html`<p class="fail pad" role="alert">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const { machine } = found;
  return html`${found.function || state.type === 'Task' ? html`<section><h3 class="pad">${found.function ? html`Function <a href=${format('function', found.function, { tab: 'log' })}><bdi>${found.function}</bdi></a>` : 'Function'}</h3>
      ${found.lines.length ? html`<${Lines} lines=${found.lines} />${found.by === 'time' ? html`<p class="faint pad">These are the lines of the time of this visit; other invocations may be among them.</p>` : null}` : html`<p class="faint pad">${found.none}</p>`}</section>`
    : html`<p class="faint pad">${found.none}</p>`}
    <section><h3 class="pad">State machine</h3>${!machine ? html`<p class="faint pad">The state machine has no logging configured. With a loggingConfiguration, its events are in a log group.</p>`
    : machine.lines.length ? html`<${Lines} lines=${machine.lines} /><p class="faint pad">From <code>${machine.group}</code>, at the level ${machine.level}.</p>` : html`<p class="faint pad">${machine.none}</p>`}</section>`;
}

/** @param {{lines: import('./log_lines.js').LogLine[]}} props */
function Lines({ lines }) {
  return html`<div class="json">${lines.map((line, place) => html`<div class="line" key=${`${line.atMs} ${place}`} title=${iso(line.atMs)}><span class=${`words ${LOOKS[lookOf(line.text)]}`}><bdi>${line.text.replaceAll('\r', '\n')}</bdi></span></div>`)}</div>`;
}
