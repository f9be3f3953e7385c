// Limits: semaphores with holders and waiters, and machines with a limit.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Capacity } from './charts.js';
import { Dialog, useAction } from './dialogs.js';
import { count, plural } from './format.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Pages, SearchBox, Since } from './service_parts.js';

const EVERY_MS = 2000;
const MOST = 'statewright:maxConcurrentExecutions';
const RATE = 'statewright:maxStartsPerSecond';

/** @param {{route: any, server: any}} props */
export function Page({ route, server }) {
  const { q = '', cursor = '', name = '', key = '' } = route.query;
  if (name) return html`<${One} key=${`${name} ${key}`} name=${name} of=${key} server=${server} />`;
  return html`<${All} route=${route} q=${q} cursor=${cursor} server=${server} />`;
}

/** @param {{route: any, q: string, cursor: string, server: any}} props */
function All({ route, q, cursor, server }) {
  const { found, problem, again } = useRead('limits', { q, cursor }, { every: EVERY_MS });
  const [edited, setEdited] = useState(/** @type {any} */ (null));
  return html`<header class="head"><div class="title"><h1>Limits</h1><div class="actions">${server?.mayWrite ? html`<button class="action" onClick=${() => setEdited({ arn: '', most: null, perSecond: null })}>Limit a state machine</button>` : null}</div></div></header>
    <div class="filters"><${SearchBox} route=${route} label="Part of a name or key" /></div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : html`<section class="card scroll"><div class="cardhead"><h2>Semaphores</h2><span class="faint">${q ? plural(found.total, 'match', 'matches') : 'with holders or waiters'}</span></div>
      ${found.semaphores.length ? html`<table class="list"><thead><tr><th>Name</th><th>Key</th><th>In use</th><th class="end">Waiting</th><th class="end">Longest wait</th></tr></thead><tbody>${found.semaphores.map((/** @type {any} */ one) => html`<tr key=${`${one.name} ${one.key}`}>
        <td class="name roomy"><a href=${format('limits', '', { name: one.name, key: one.key })}><bdi>${one.name}</bdi></a></td><td>${one.key ? html`<bdi>${one.key}</bdi>` : html`<span class="faint">–</span>`}</td>
        <td><${Capacity} used=${one.held} limit=${one.limit} label=${`${one.held} of ${one.limit} permits in use`} words=${`${count(one.held)} of ${count(one.limit)}`} /></td>
        <td class="end">${count(one.waiting)}</td><td class="end">${one.oldestMs ? html`<${Since} ms=${one.oldestMs} now=${found.nowMs} />` : html`<span class="faint">–</span>`}</td></tr>`)}</tbody></table>`
    : html`<div class="pad">${q ? 'No semaphore matches.' : html`<p>No permit is in use. A Task with the resource <code>arn:aws:states:::statewright:acquire</code> makes a semaphore; <code>statewright limit list</code> shows the same.</p>`}</div>`}</section>
      <${Pages} route=${route} next=${found.next} />
      <section class="card scroll"><div class="cardhead"><h2>State machines</h2><span class="faint">with a limit of executions</span></div>
      ${found.machines.length ? html`<table class="list"><thead><tr><th>Name</th><th>Running</th><th class="end">Starts a second</th><th class="end">Queued</th><th></th></tr></thead><tbody>${found.machines.map((/** @type {any} */ one) => html`<tr key=${one.arn}>
        <td class="name roomy"><a href=${format('executions', '', { machine: one.arn })}><bdi>${one.name}</bdi></a></td>
        <td><${Capacity} used=${one.running} limit=${one.most} label=${one.most ? `${one.running} of ${one.most} executions run` : `${one.running} executions run`} words=${one.most ? `${count(one.running)} of ${count(one.most)}` : `${count(one.running)}, no limit`} /></td>
        <td class="end">${one.perSecond ?? html`<span class="faint">no limit</span>`}</td>
        <td class="end">${one.queued ? html`<a class="link" href=${format('waiting', '', { kind: 'starts', q: one.name })}>${count(one.queued)}</a>` : 0}</td>
        <td class="end">${server?.mayWrite ? html`<button class="action small" onClick=${() => setEdited(one)}>Change</button>` : null}</td></tr>`)}</tbody></table>${found.moreMachines ? html`<p class="faint pad">${count(found.moreMachines)} more are not shown: search for a part of the name.</p>` : null}`
    : html`<div class="pad"><p>${q ? 'No state machine with a limit matches.' : html`No state machine has a limit. Its tag <code>${MOST}</code> gives it one.`}</p></div>`}</section>`}
    ${edited ? html`<${MachineLimit} one=${edited} onClose=${() => setEdited(null)} again=${again} />` : null}`;
}

/** One semaphore. @param {{name: string, of: string, server: any}} props */
function One({ name, of, server }) {
  const { found, problem, again } = useRead('semaphore', { name, key: of }, { every: EVERY_MS });
  const [taken, setTaken] = useState(/** @type {any} */ (null));
  return html`<header class="head"><div class="crumbs"><a href=${format('limits')}>Limits</a></div><div class="title"><h1><bdi>${name}</bdi></h1>${of ? html`<span class="badge t-idle">key <bdi>${of}</bdi></span>` : null}</div></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : found.limit === null ? html`<div class="empty card"><h2>No permit is in use</h2><p>A semaphore exists while an execution holds one of its permits or waits for one: <code>statewright limit list</code>.</p></div>`
    : html`<section class="card block"><${Capacity} used=${found.held} limit=${found.limit} label=${`${found.held} of ${found.limit} permits in use`} words=${html`<b>${count(found.held)} of ${count(found.limit)}</b> in use, ${plural(found.waiting, 'waits', 'wait')}`} /></section>
      <section class="card scroll"><div class="cardhead"><h2>Holders</h2></div><${Permits} rows=${found.holders} now=${found.nowMs} words="Held for" none="No execution holds a permit." onTake=${server?.mayWrite ? setTaken : null} />${found.held > found.holders.length ? html`<p class="faint pad">${count(found.held - found.holders.length)} more are not shown.</p>` : null}</section>
      <section class="card scroll"><div class="cardhead"><h2>Waiters, in order</h2></div><${Permits} rows=${found.waiters} now=${found.nowMs} words="Waits for" none="No execution waits." onTake=${null} />${found.waiting > found.waiters.length ? html`<p class="faint pad">${count(found.waiting - found.waiters.length)} more are not shown.</p>` : null}</section>
      <p class="faint">A permit has no lease: it goes back when its execution releases it, or ends.</p>`}
    ${taken ? html`<${Release} name=${name} of=${of} permit=${taken} onClose=${() => setTaken(null)} again=${again} />` : null}`;
}

/** @param {{rows: any[], now: number, words: string, none: string, onTake: ((permit: any) => void) | null}} props */
function Permits({ rows, now, words, none, onTake }) {
  if (!rows.length) return html`<p class="faint pad">${none}</p>`;
  return html`<table class="list"><thead><tr><th class="end">${words}</th><th>Execution</th><th>State</th><th>Permit</th>${onTake ? html`<th></th>` : null}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.permit}><td class="end"><b><${Since} ms=${row.grantedMs ?? row.askedMs} now=${now} /></b></td><td class="name roomy"><a href=${format('execution', row.arn, { state: row.state })}><bdi>${row.name}</bdi></a></td>
      <td><bdi>${row.state}</bdi></td><td><code>${row.permit}</code></td>${onTake ? html`<td class="end"><button class="action small" onClick=${() => onTake(row)}>Release…</button></td>` : null}</tr>`)}</tbody></table>`;
}

/** Takes a permit from its holder: with a reason, and after its name was typed. @param {{name: string, of: string, permit: any, onClose: () => void, again: () => void}} props */
function Release({ name, of, permit, onClose, again }) {
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const { isBusy, problem, run } = useAction();
  const release = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await call('statewright', 'ReleasePermit', { name, ...(of ? { key: of } : {}), permit: permit.permit, reason: reason.trim() });
      again();
      onClose();
    });
  };
  return html`<${Dialog} title="Release a permit by force" onClose=${onClose}><form class="form" onSubmit=${release}>
    <p><b><bdi>${permit.name}</bdi></b> holds a permit of <b><bdi>${name}</bdi></b> and may still be at work. The next waiter gets the permit at once, so that both may be in the critical section. The execution goes on and is not stopped.</p>
    <label>Reason, for the log of the server <input required maxlength="256" value=${reason} onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></label>
    <label><span>Type <b><bdi>${permit.name}</bdi></b> to confirm</span><input value=${typed} autocomplete="off" onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary danger" disabled=${isBusy || typed !== permit.name || !reason.trim()}>Release</button></footer></form><//>`;
}

/** The limit of a state machine, which its tags are. @param {{one: any, onClose: () => void, again: () => void}} props */
function MachineLimit({ one, onClose, again }) {
  const [arn, setArn] = useState(one.arn);
  const [most, setMost] = useState(one.most === null ? '' : String(one.most));
  const [rate, setRate] = useState(one.perSecond === null ? '' : String(one.perSecond));
  const machines = useRead(one.arn ? null : 'machines', {});
  const { isBusy, problem, run } = useAction();
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const tags = [...(most.trim() ? [{ key: MOST, value: most.trim() }] : []), ...(rate.trim() ? [{ key: RATE, value: rate.trim() }] : [])];
      const gone = [...(most.trim() ? [] : [MOST]), ...(rate.trim() ? [] : [RATE])];
      if (tags.length) await call('states', 'TagResource', { resourceArn: arn.trim(), tags });
      if (gone.length) await call('states', 'UntagResource', { resourceArn: arn.trim(), tagKeys: gone });
      again();
      onClose();
    });
  };
  const standard = (machines.found?.machines ?? []).filter((/** @type {any} */ each) => each.type === 'STANDARD');
  return html`<${Dialog} title=${one.arn ? `Limit of ${one.name}` : 'Limit a state machine'} onClose=${onClose}><form class="form" onSubmit=${save}>
    ${one.arn ? null : html`<label>State machine (its ARN) <input required list="limit-machines" value=${arn} onInput=${(/** @type {any} */ event) => setArn(event.target.value)} /></label><datalist id="limit-machines">${standard.map((/** @type {any} */ each) => html`<option value=${each.arn}>${each.name}</option>`)}</datalist>`}
    <label>Executions at a time (empty: any number) <input inputmode="numeric" value=${most} onInput=${(/** @type {any} */ event) => setMost(event.target.value)} /></label>
    <label>Starts a second (empty: any number) <input inputmode="decimal" value=${rate} onInput=${(/** @type {any} */ event) => setRate(event.target.value)} /></label>
    <p class="faint">Executions that run already go on; further starts wait in order. The limits are tags of the state machine.</p>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>Save</button></footer></form><//>`;
}
