// ECS tasks and Batch jobs: the list, and one with its containers and the end of their output.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Confirm } from './dialogs.js';
import { duration } from './format.js';
import { Icon } from './icons.js';
import { Json } from './json.js';
import { Facts, List, Part, Table, useLast } from './lists.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Instant, When, size } from './when.js';

/** @type {[string, string][]} */
const GROUPS = [['', 'All'], ['waiting', 'Waiting'], ['running', 'Running'], ['succeeded', 'Succeeded'], ['failed', 'Failed']];
/** @type {Record<string, [string, string]>} */
const TONES = { waiting: ['wait', 'clock'], running: ['run', 'run'], succeeded: ['ok', 'check'], failed: ['fail', 'cross'] };

/** @param {{row: any}} props */
function Status({ row }) {
  const [tone, icon] = TONES[row.group];
  const word = row.status.charAt(0) + row.status.slice(1).toLowerCase();
  return html`<span class=${`badge t-${tone}`}><${Icon} name=${icon} size=${12} />${word === 'Stopped' ? (row.group === 'failed' ? 'Failed' : 'Succeeded') : word}</span>`;
}

/** @param {{row: any}} props */
function Took({ row }) {
  if (!row.startedMs) return html`<span class="faint">–</span>`;
  return row.stoppedMs ? html`${duration(Math.max(0, row.stoppedMs - row.startedMs))}` : html`<span class="faint">${duration(Math.max(0, Date.now() - row.startedMs))} so far</span>`;
}

const COLUMNS = [
  { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('jobs', row.id)}><bdi>${row.name}</bdi></a>` },
  { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => html`<${Status} row=${row} />` },
  { title: 'Kind', look: 'tight', cell: (/** @type {any} */ row) => html`${row.kind} ${row.size ? html`<span class="faint">array of ${row.size}</span>` : null}` },
  { title: 'Cluster or queue', cell: (/** @type {any} */ row) => row.where },
  { title: 'Created', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.createdMs} />` },
  { title: 'Took', look: 'end', cell: (/** @type {any} */ row) => html`<${Took} row=${row} />` },
  { title: 'Exit code', look: 'end', cell: (/** @type {any} */ row) => (row.exitCode === null ? html`<span class="faint">–</span>` : html`<span class=${row.exitCode ? 'fail' : ''}>${row.exitCode}</span>`) },
  { title: 'Reason', cell: (/** @type {any} */ row) => html`<span class="cat-cell" title=${row.reason ?? ''}>${row.reason ?? ''}</span>` },
];

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  if (route.id) return html`<${Detail} route=${route} server=${server} />`;
  const { status = '' } = route.query;
  return html`<header class="head"><h1>Jobs</h1></header><${List} route=${route} name="jobs" label="Jobs" columns=${COLUMNS} keyOf=${(/** @type {any} */ row) => row.id} extra=${{ status }} chosen="status"
    filters=${html`<div class="tabs pill" role="group" aria-label="Status">${GROUPS.map(([value, words]) => html`<button aria-pressed=${value === status} onClick=${() => go(format('jobs', '', { ...route.query, status: value, cursor: null }))}>${words}</button>`)}</div>`}
    empty=${html`<h2>No job has run</h2><p>Run an ECS task or submit a Batch job from a state machine, with any AWS SDK, or with <code>statewright aws batch submit-job …</code>.</p>`} />`;
}

/** @param {{route: import('./route.js').Route, server: any}} props */
function Detail({ route, server }) {
  const { found, problem, again } = useLast('job', { id: route.id }, 2000);
  const [isAsking, setAsking] = useState(false);
  const crumbs = html`<div class="crumbs"><a href=${format('jobs')}>Jobs</a><span>/</span>${found ? `${found.kind} in ${found.where}` : ''}</div>`;
  if (!found) return html`<header class="head">${crumbs}<h1><bdi>${route.id.split('/').pop()}</bdi></h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`}`;
  const isOpen = found.group === 'waiting' || found.group === 'running';
  const of = found.outputs.includes(route.query.of) ? route.query.of : found.outputs[found.outputs.length - 1];
  const stop = async () => {
    const reason = 'Stopped in the console';
    const [kind, name] = [route.id.slice(0, route.id.indexOf(':')), route.id.slice(route.id.indexOf(':') + 1)];
    if (kind === 'ecs') await call('ecs', 'StopTask', { cluster: found.where, task: name.split('/').pop(), reason });
    else await call('batch', 'TerminateJob', { jobId: name, reason });
    again();
  };
  const containers = [
    { title: 'Container', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.name}</bdi>` },
    { title: 'Image', cell: (/** @type {any} */ row) => html`<code>${row.image ?? ''}</code>` },
    { title: 'Command', cell: (/** @type {any} */ row) => html`<code class="cat-cell" title=${row.command.join(' ').slice(0, 2000)}>${row.command.join(' ').slice(0, 2000) || '(of the image)'}</code>` },
    { title: 'Exit code', look: 'end', cell: (/** @type {any} */ row) => (row.exitCode === null || row.exitCode === undefined ? html`<span class="faint">–</span>` : row.exitCode) },
    { title: 'Reason', cell: (/** @type {any} */ row) => row.reason ?? '' },
  ];
  return html`<header class="head">${crumbs}<div class="title"><h1><bdi>${found.name}</bdi></h1><${Status} row=${found} />${server?.mayWrite && isOpen ? html`<div class="actions"><button class="action" onClick=${() => setAsking(true)}>Stop</button></div>` : null}</div>
    <${Facts} facts=${[['Created', html`<${Instant} ms=${found.createdMs} />`], ['Took', html`<${Took} row=${found} />`], ['Exit code', found.exitCode], ['Definition', found.definition], ['Attempts', found.attempts],
    ['Started by', found.execution ? html`<a href=${format('execution', found.execution)}>${found.execution.split(':').pop()}</a>` : found.startedBy], ['Reason', found.reason]]} /></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Part} title="Containers"><${Table} label="Containers" rows=${found.containers} columns=${containers} keyOf=${(/** @type {any} */ row) => row.name} /><//>
    ${found.children.length ? html`<${Part} title=${`Children (${found.children.length} of ${found.size})`}><${Table} label="Children" rows=${found.children} columns=${COLUMNS} keyOf=${(/** @type {any} */ row) => row.id} /><//>` : null}
    ${of ? html`<${Part} title="Output" more=${found.outputs.length > 1 ? html`<${Tabs} label="Output of" panel="output" look="pill" chosen=${of} items=${found.outputs.map((/** @type {string} */ one) => [one, one])} onChoose=${(/** @type {string} */ one) => go(format('jobs', route.id, { of: one }), true)} />` : null}>
      <${Output} id=${route.id} of=${of} isOpen=${isOpen} /><//>` : null}
    <${Part} title="As its service describes it"><div class="card cat-pane" role="region" aria-label="JSON" tabindex="0"><${Json} value=${found.described} /></div><//>
    ${isAsking ? html`<${Confirm} title="Stop this job?" words="Its process gets SIGTERM, and SIGKILL after its grace period. A state that waits for it fails." verb="Stop" onConfirm=${stop} onClose=${() => setAsking(false)} />` : null}`;
}

/** @param {{id: string, of: string, isOpen: boolean}} props */
function Output({ id, of, isOpen }) {
  const { found, problem, again } = useRead('job/output', { id, of }, { every: isOpen ? 2000 : 0 });
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint">Reading…</p>`;
  if (found.text === null) return html`<p class="faint">It has not begun to write.</p>`;
  return html`<div class="card" id="output">${found.isWhole ? null : html`<p class="pad faint">The last 64 KB of ${size(found.bytes)}</p>`}<pre class="cat-text" tabindex="0" aria-label="Output">${found.text || '(nothing was written)'}</pre></div>`;
}
