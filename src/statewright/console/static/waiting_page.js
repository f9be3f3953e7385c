// What waits: tasks for an answer with their token, tasks for a permit, starts for their machine's limit.

import { html, useState } from './vendor.js';
import { count, duration, iso, plural } from './format.js';
import { Icon } from './icons.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { changed, Pages, SearchBox, Since } from './service_parts.js';

const EVERY_MS = 2000;
// With very many executions that run, a look costs the server a tenth of a second.
const MANY = 2000;
const RARELY_MS = 10000;
const KINDS = [['', 'Tasks'], ['permits', 'Permits'], ['starts', 'Starts']];
const AGES = [['', 'any time'], ['60000', 'more than 1 min'], ['3600000', 'more than 1 h'], ['86400000', 'more than 1 d']];
/** @type {Record<string, [string, string]>} */
const EMPTY = {
  tasks: ['No task waits for an answer', 'Tasks with .waitForTaskToken and tasks of activities stand here until they are answered, as by statewright aws stepfunctions send-task-success.'],
  permits: ['No task waits for a permit', 'Tasks with the resource statewright:acquire stand here while all permits of their semaphore are in use: statewright limit list.'],
  starts: ['No start waits for its turn', 'Executions of a machine with the tag statewright:maxConcurrentExecutions stand here until they are admitted: statewright limit list.'],
};

/** @param {{route: any}} props */
export function Page({ route }) {
  const { kind = '', q = '', older = '', cursor = '' } = route.query;
  const shown = kind || 'tasks';
  const [isLarge, setLarge] = useState(false);
  const { found, problem, again } = useRead('waiting', { kind: shown, q, older, cursor }, { every: isLarge ? RARELY_MS : EVERY_MS });
  if (found && isLarge !== found.running > MANY) setLarge(found.running > MANY);
  const counts = /** @type {Record<string, number | undefined>} */ ({ permits: found?.permits, starts: found?.starts });
  return html`<header class="head"><h1>Waiting</h1></header>
    <div class="filters"><div class="tabs pill" role="group" aria-label="What waits">${KINDS.map(([value, words]) => html`<button aria-pressed=${value === kind}
        onClick=${() => go(changed(route, { kind: value }))}>${words}${counts[value] === undefined ? '' : html` <span class="pip">${count(counts[value])}</span>`}</button>`)}</div>
      <${SearchBox} route=${route} label="Part of a name: execution, state machine, state, resource" />
      <label>Waits <select value=${older} onChange=${(/** @type {any} */ event) => go(changed(route, { older: event.target.value }))}>${AGES.map(([value, words]) => html`<option value=${value} selected=${value === older}>${words}</option>`)}</select></label></div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${found?.listed ? html`<p class="banner"><${Icon} name="clock" />Only ${count(found.listed)} of ${count(found.running)} running executions were looked at. Filter by age to see the oldest.</p>` : null}
    ${found ? html`<${Rows} rows=${found.rows} kind=${shown} now=${found.nowMs} more=${Boolean(found.next)} filtered=${Boolean(q || older || cursor)} />` : problem ? null : html`<p class="faint">Reading…</p>`}
    ${found?.leftOut ? html`<p class="faint">${plural(found.leftOut, 'more task')} of executions with very many are not shown.</p>` : null}
    <${Pages} route=${route} next=${found?.next ?? null} words=${found?.rows.length ? 'Next page' : 'Look further'} />`;
}

/** @param {{rows: any[], kind: string, now: number, more: boolean, filtered: boolean}} props */
function Rows({ rows, kind, now, more, filtered }) {
  if (!rows.length) {
    if (more) return html`<div class="empty card"><p>Nothing was found among the executions that were looked at so far. There are more.</p></div>`;
    const [title, words] = EMPTY[kind];
    return html`<div class="empty card">${filtered ? html`<p>Nothing that waits matches. <a href=${format('waiting', '', { kind: kind === 'tasks' ? '' : kind })}>Show all</a></p>` : html`<h2>${title}</h2><p>${words}</p>`}</div>`;
  }
  const [what, place] = kind === 'permits' ? ['Semaphore', 'In line'] : kind === 'starts' ? ['', 'In line'] : ['Resource', ''];
  return html`<div class="card scroll"><table class="list"><thead><tr><th class="end">Waits</th><th>Execution</th><th class="big">State machine</th>${kind === 'starts' ? null : html`<th>State</th><th class="big">${what}</th>`}${place ? html`<th class="end">${place}</th>` : html`<th>Answer</th>`}${kind === 'starts' ? null : html`<th>Deadline</th>`}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${`${row.arn} ${row.state} ${row.sinceMs} ${row.place}`}><td class="end"><b><${Since} ms=${row.sinceMs} now=${now} /></b></td>
      <td class="name roomy"><a href=${format('execution', row.arn, { state: row.state })}><bdi>${row.name}</bdi></a></td><td class="big"><bdi>${row.machine}</bdi></td>
      ${kind === 'starts' ? null : html`<td><bdi>${row.state}</bdi></td><td class="big">${kind === 'permits' ? html`<a class="link" href=${format('limits', '', { name: row.what, key: row.key })}><bdi>${row.what}</bdi></a>${row.key ? html` <bdi class="faint">${row.key}</bdi>` : null}` : html`<code>${row.what}</code>`}</td>`}
      ${place ? html`<td class="end">${count(row.place)}</td>` : html`<td><${Expects} row=${row} /></td>`}
      ${kind === 'starts' ? null : html`<td><${Deadline} row=${row} now=${now} /></td>`}</tr>`)}</tbody></table></div>`;
}

/** What a task waits for. @param {{row: any}} props */
function Expects({ row }) {
  const words = row.kind === 'activity' ? (row.isTaken ? 'a worker has it' : 'no worker has taken it') : row.isTaken ? 'with its token' : 'the request is under way';
  return html`<span class="badge t-wait"><${Icon} name="clock" size=${12} />${words}</span>`;
}

/** @param {{row: any, now: number}} props */
function Deadline({ row, now }) {
  const due = [row.deadlineMs, row.heartbeatMs].filter((ms) => ms).sort((one, other) => one - other);
  if (!due.length) return html`<span class="faint">none</span>`;
  const isHeartbeat = due[0] === row.heartbeatMs;
  return html`<span title=${iso(due[0])}>in ${duration(Math.max(0, due[0] - now))}</span>${isHeartbeat ? html` <span class="faint">heartbeat</span>` : null}`;
}
