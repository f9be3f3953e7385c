// Schedules of EventBridge Scheduler and rules with a schedule: the list, and one of them.

import { html, useState } from './vendor.js';
import { act, call } from './api.js';
import { Confirm, useAction } from './dialogs.js';
import { Icon } from './icons.js';
import { Arn } from './links.js';
import { Facts, List, Part, useLast } from './lists.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';
import { ScheduleForm } from './schedule_form.js';
import { Instant, When, inZone } from './when.js';
import { Json } from './json.js';
import { opened } from './values.js';

const STATES = [['', 'All'], ['ENABLED', 'Enabled'], ['DISABLED', 'Paused']];

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  return route.id ? html`<${Detail} route=${route} server=${server} />` : html`<${All} route=${route} server=${server} />`;
}

/** @param {{route: import('./route.js').Route, server: any}} props */
function All({ route, server }) {
  const [isOpen, setOpen] = useState(false);
  const { state = '' } = route.query;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('schedules', row.id)}><bdi>${row.name}</bdi></a> <span class="faint">${row.kind === 'rule' ? `rule of ${row.group}` : row.group === 'default' ? '' : row.group}</span>` },
    { title: 'State', look: 'tight', cell: (/** @type {any} */ row) => html`<${State} row=${row} />` },
    { title: 'When', cell: (/** @type {any} */ row) => html`<span title=${row.expression}>${row.words}</span> ${row.zone === 'UTC' ? null : html`<span class="faint">${row.zone}</span>`}` },
    { title: 'Next', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.nextMs[0]} />` },
    { title: 'Target', cell: (/** @type {any} */ row) => html`<${Targets} targets=${row.targets} />` },
    { title: 'Last', cell: (/** @type {any} */ row) => html`<${Last} last=${row.last} />` },
  ];
  return html`<header class="head"><div class="title"><h1>Schedules</h1>${server?.mayWrite ? html`<div class="actions"><button class="action primary" onClick=${() => setOpen(true)}>Create schedule</button></div>` : null}</div></header>
    <${List} route=${route} name="schedules" label="Schedules" columns=${columns} keyOf=${(/** @type {any} */ row) => row.id} extra=${{ state }} chosen="state"
      filters=${html`<div class="tabs pill" role="group" aria-label="State">${STATES.map(([value, words]) => html`<button aria-pressed=${value === state} onClick=${() => go(format('schedules', '', { ...route.query, state: value, cursor: null }))}>${words}</button>`)}</div>`}
      empty=${html`<h2>Nothing is scheduled</h2><p>Create a schedule here, with any AWS SDK, or with <code>statewright aws scheduler create-schedule …</code>. A rule with a schedule stands here, too.</p>`} />
    ${isOpen ? html`<${ScheduleForm} server=${server} onClose=${() => setOpen(false)} />` : null}`;
}

/** @param {{row: any}} props */
function State({ row }) {
  const isOn = row.state !== 'DISABLED';
  const [tone, icon, words] = !isOn ? ['idle', 'pause', 'Paused'] : row.nextMs.length ? ['ok', 'clock', 'Enabled'] : ['idle', 'check', 'Over'];
  return html`<span class=${`badge t-${tone}`}><${Icon} name=${icon} size=${12} />${words}</span>`;
}

/** @param {{targets: any[]}} props */
function Targets({ targets }) {
  if (!targets.length) return html`<span class="faint">no target</span>`;
  return html`<${Arn} arn=${targets[0].arn} />${targets.length > 1 ? html` <span class="faint">and ${targets.length - 1} more</span>` : null}`;
}

/** @param {{last: any}} props */
function Last({ last }) {
  if (!last) return html`<span class="faint">–</span>`;
  const words = last.what === 'delivered' ? 'Delivered' : last.what === 'retried' ? `Retrying after ${last.error}` : `Given up: ${last.error}`;
  const tone = last.what === 'delivered' ? '' : 'fail';
  return html`<span class=${tone} title=${last.message ?? ''}>${last.execution && last.what === 'delivered' ? html`<a class="link" href=${format('execution', last.execution)}>${words}</a>` : words}</span> <${When} ms=${last.atMs} />`;
}

/** @param {{route: import('./route.js').Route, server: any}} props */
function Detail({ route, server }) {
  const { found, problem, again } = useLast('schedule', { id: route.id }, 2000);
  const [dialog, setDialog] = useState('');
  const { isBusy, problem: trouble, run } = useAction();
  const [started, setStarted] = useState(/** @type {any} */ (null));
  const crumbs = html`<div class="crumbs"><a href=${format('schedules')}>Schedules</a><span>/</span>${found ? `${found.kind === 'rule' ? 'rule of ' : ''}${found.group}` : ''}</div>`;
  if (!found) {
    return html`<header class="head">${crumbs}<h1><bdi>${route.id.split('/').pop()}</bdi></h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`}`;
  }
  const isOn = found.state !== 'DISABLED';
  const change = (/** @type {() => Promise<unknown>} */ action) => run(async () => {
    setStarted(null);
    const answer = await action();
    setStarted(answer);
    again();
  });
  const buttons = server?.mayWrite ? html`<div class="actions">
    <button class="action" disabled=${isBusy} onClick=${() => change(() => act('schedule/run', { id: found.id }))}><${Icon} name="play" size=${12} /> Run now</button>
    <button class="action" disabled=${isBusy} onClick=${() => change(() => act('schedule/turn', { id: found.id, isOn: !isOn }))}>${isOn ? 'Pause' : 'Resume'}</button>
    ${found.kind === 'schedule' ? html`<button class="action" onClick=${() => setDialog('edit')}>Edit</button>` : null}
    <button class="action" onClick=${() => setDialog('delete')}>Delete</button></div>` : null;
  return html`<header class="head">${crumbs}<div class="title"><h1><bdi>${found.name}</bdi></h1><${State} row=${found} />${buttons}</div>
    <${Facts} facts=${[['When', found.words], ['Expression', html`<code>${found.expression}</code>`], ['Zone', found.zone], ['Last', html`<${Last} last=${found.last} />`], ['Description', found.description]]} /></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${trouble ? html`<div class="banner fail" role="alert">${trouble.message}</div>` : null}
    <div aria-live="polite">${started?.invocations !== undefined ? html`<p class="cat-note">Invoked ${started.invocations === 1 ? 'its target' : `${started.invocations} targets`} now.
      ${started.execution ? html` The execution is <a href=${format('execution', started.execution)}>${started.execution.split(':').pop()}</a>.` : null}</p>` : null}</div>
    <div class="cat-two"><${Part} title="Next instants"><div class="card pad">${found.nextMs.length ? html`<ol class="cat-nexts">${found.nextMs.map((/** @type {number} */ ms) => html`<li>${inZone(ms, found.zone)} <span class="faint">${found.zone}</span> · <${When} ms=${ms} /></li>`)}</ol>`
      : html`<p class="faint">${isOn ? 'It does not fire again.' : 'It does not fire while it is paused.'}</p>`}</div><//>
    <${Part} title="Last delivery"><div class="card pad">${found.last ? html`<p><${Instant} ms=${found.last.atMs} /></p><p><${Last} last=${found.last} /> ${found.last.attempts > 1 ? html`<span class="faint">after ${found.last.attempts} attempts</span>` : null}</p>${found.last.message ? html`<p class="fail">${found.last.message}</p>` : null}`
      : html`<p class="faint">It has not fired since the server started.</p>`}</div><//></div>
    <${Part} title=${found.targets.length === 1 ? 'Target' : 'Targets'}>${found.targets.map((/** @type {any} */ target) => html`<div class="card"><div class="pad"><${Arn} arn=${target.arn} />${target.deadLetters ? html`<p><span class="faint">dead letters to</span> <${Arn} arn=${target.deadLetters} /></p>` : null}</div>
      ${target.input ? html`<h3>Input</h3><${Json} value=${opened(target.input)} />` : null}</div>`)}${found.targets.length ? null : html`<p class="faint">It has no target: nothing happens when it fires.</p>`}<//>
    ${dialog === 'edit' ? html`<${ScheduleForm} server=${server} schedule=${found.request} onClose=${() => { setDialog(''); again(); }} />` : null}
    ${dialog === 'delete' ? html`<${Confirm} title="Delete this schedule?" words="It fires no more. Invocations under way go on." verb="Delete" typed=${found.name} onClose=${() => setDialog('')}
      onConfirm=${async () => { await removed(found); go(format('schedules')); }} />` : null}`;
}

/** @param {any} found */
async function removed(found) {
  if (found.kind === 'schedule') return call('scheduler', 'DeleteSchedule', { Name: found.name, GroupName: found.group });
  const rule = { EventBusName: found.group };
  const { Targets: targets } = await call('events', 'ListTargetsByRule', { Rule: found.name, ...rule });
  if (targets.length) await call('events', 'RemoveTargets', { Rule: found.name, ...rule, Ids: targets.map((/** @type {any} */ one) => one.Id) });
  return call('events', 'DeleteRule', { Name: found.name, ...rule });
}
