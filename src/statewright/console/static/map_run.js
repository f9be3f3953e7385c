// One Map Run: counts with the tolerance, concurrency over time, items as cells, errors, and child executions.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Split, TimeChart } from './charts.js';
import { Dialog, useAction } from './dialogs.js';
import { count, duration, instant, iso, plural } from './format.js';
import { Icon, StatusBadge, ToneBadge } from './icons.js';
import { STATUSES } from './item_strip.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { changed, lastOf, Missing, Pages } from './service_parts.js';
import { Strip } from './strip.js';
import { toleranceOf } from './tolerance.js';

const EVERY_MS = 2000;
const MOST_CAUSE = 120;

/** @param {{route: any, server: any}} props */
export function Page({ route, server }) {
  const arn = route.id;
  const [isOpen, setOpen] = useState(true);
  const every = isOpen ? EVERY_MS : 0;
  const { found, problem, again } = useRead(arn ? 'map-run' : null, { arn }, { every });
  const strip = useRead(arn ? 'map-run/strip' : null, { arn }, { every });
  const status = found?.mapRun.status;
  if (found && isOpen !== (status === 'RUNNING')) setOpen(status === 'RUNNING');
  if (problem && !found) {
    return html`<${Missing} problem=${problem} again=${again} what="Map Run">Map Runs are linked from the states of an execution, and shown by <code>statewright map-run show</code>.<//>`;
  }
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const run = found.mapRun;
  return html`<header class="head"><div class="crumbs"><a href=${format('executions')}>Executions</a><span>/</span><a href=${format('execution', found.parent.arn, { state: found.state })}><bdi>${lastOf(found.parent.arn)}</bdi></a><span>/</span>Map Run</div>
      <div class="title"><h1><bdi>${found.state}</bdi></h1><${StatusBadge} status=${status} />
        <div class="actions"><${Actions} found=${found} arn=${arn} server=${server} again=${() => {
    setOpen(true);
    again();
  }} /></div></div>
      <dl class="factbar"><div><dt>Started</dt><dd title=${iso(run.startDate)}>${instant(run.startDate)} <span class="faint">UTC</span></dd></div>
        <div><dt>Duration</dt><dd>${duration((run.stopDate ?? found.nowMs) - run.startDate)}</dd></div>
        <div><dt>Children</dt><dd>${found.childType === 'STANDARD' ? 'Standard' : 'Express'}</dd></div>
        <div><dt>Concurrency</dt><dd>${run.maxConcurrency ? `at most ${count(run.maxConcurrency)}` : 'no limit'}</dd></div>
        <div><dt>Items from</dt><dd><bdi>${found.source === 'STATE_DATA' ? 'the input' : found.source}</bdi></dd></div>
        ${found.writer ? html`<div><dt>Results</dt><dd><bdi>${`s3://${found.writer.bucket}/${found.writer.key}`}</bdi> ${found.writer.isWritten ? '' : html`<span class="faint">not written yet</span>`}</dd></div>` : null}
        ${run.redriveCount ? html`<div><dt>Redriven</dt><dd>${plural(run.redriveCount, 'time')}</dd></div>` : null}</dl></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${found.error ? html`<div class="banner"><${Icon} name="cross" /><span><b>${found.error}</b> ${found.cause ?? ''}</span></div>` : null}
    <${Counts} found=${found} />
    <div class="parts"><section class="card"><${Concurrency} found=${found} /></section><${Errors} found=${found} route=${route} /></div>
    <${Items} found=${found} strip=${strip} route=${route} />
    <${Children} arn=${arn} route=${route} found=${found} every=${every} />`;
}

/** @param {{found: any}} props */
function Counts({ found }) {
  const { itemCounts: counts } = found.mapRun;
  const tolerance = toleranceOf(found.mapRun, found.hasTolerance);
  const items = [['Failed', 'fail', counts.failed], ['Timed out', 'fail', counts.timedOut], ['Aborted', 'caught', counts.aborted], ['Running', 'run', counts.running],
    ['Pending redrive', 'wait', counts.pendingRedrive], ['Succeeded', 'ok', counts.succeeded], ['Pending', 'idle', counts.pending]];
  const mark = tolerance.most && counts.total ? { at: tolerance.most / counts.total, words: `the run fails beyond ${count(Math.floor(tolerance.most))}` } : null;
  return html`<section class="card block"><h2>${plural(counts.total, 'item')}</h2>
    <${Split} label="Items by status" mark=${mark} items=${items.map(([name, tone, n]) => ({ name: /** @type {string} */ (name), tone: /** @type {string} */ (tone), n: Number(n ?? 0) }))} />
    <p class=${`under ${tolerance.isExceeded ? 'fail' : 'faint'}`}>${tolerance.words}</p></section>`;
}

/** @param {{found: any}} props */
function Concurrency({ found }) {
  const { fromMs, toMs, stepMs, most } = found.concurrency;
  const points = most.map((/** @type {number} */ value, /** @type {number} */ place) => [fromMs + place * stepMs, value]);
  const limit = found.mapRun.maxConcurrency;
  const highest = Math.max(0, ...most);
  return html`<${TimeChart} title="Children that run" series=${[{ name: 'running', tone: 'run', points, area: true }]} from=${fromMs} to=${toMs}
      limit=${limit && limit <= highest * 5 ? { value: limit, name: 'MaxConcurrency' } : null} steps=${true} none="No child has started yet." />
    ${found.mapRun.redriveCount ? html`<p class="faint pad">A child that was redriven counts from its first start to its last end.</p>` : null}`;
}

/** @param {{found: any, route: any}} props */
function Errors({ found, route }) {
  return html`<section class="card scroll"><div class="cardhead"><h2>Errors</h2></div>${found.errors.length ? html`<table class="list"><thead><tr><th>Error</th><th class="end">Children</th><th>First</th></tr></thead>
    <tbody>${found.errors.map((/** @type {any} */ one) => html`<tr key=${one.error}><td class="error"><b><bdi>${one.error}</bdi></b>${one.cause ? html`<br /><span class="faint whole"><bdi>${one.cause}</bdi></span>` : null}</td>
      <td class="end">${count(one.count)}</td><td><a class="link" href=${changed(route, { item: one.index })}>#${count(one.index)}</a></td></tr>`)}</tbody></table>`
    : html`<p class="faint pad">No child has failed.</p>`}</section>`;
}

/** @param {{found: any, strip: any, route: any}} props */
function Items({ found, strip, route }) {
  const failedFirst = route.query.order !== 'index';
  const cells = strip.found;
  const more = cells && !found.batch ? Math.max(0, cells.total - cells.children) : 0;
  const counts = found.mapRun.executionCounts;
  const unit = found.batch ? 'Batch' : 'Item';
  const words = `${unit}s by status: ${STATUSES.map((one, digit) => [one.words, cells ? countOf(cells.strip, digit) : 0]).filter(([, n]) => n).map(([name, n]) => `${name} ${n}`).join(', ')}. The list below has them.`;
  return html`<section class="card block"><div class="filters"><h2>${found.batch ? `${plural(counts.total, 'batch', 'batches')} of items` : 'Items'}</h2>
      <div class="tabs pill" role="group" aria-label="Order of the cells">${[['', 'Failed first'], ['index', 'By index']].map(([value, name]) => html`<button aria-pressed=${(route.query.order ?? '') === value} onClick=${() => go(changed(route, { order: value }), true)}>${name}</button>`)}</div>
      <span class="legend space">${[...STATUSES].sort((one, other) => one.rank - other.rank).filter((one) => one.name !== 'TIMED_OUT').map((one) => html`<span><i class=${`swatch k-${one.tone} ${one.name === 'PENDING' ? 'open' : one.name === 'SUCCEEDED' ? 'soft' : ''}`} aria-hidden="true"></i>${one.name === 'FAILED' ? 'Failed, timed out' : one.words}</span>`)}</span></div>
    ${strip.problem ? html`<p class="fail" role="alert">${strip.problem.message}</p>` : cells ? html`<${Strip} strip=${cells.strip} more=${more} failedFirst=${failedFirst} unit=${unit} words=${words} onChoose=${(/** @type {number} */ index) => go(changed(route, { item: index, status: null }), true)} />` : html`<p class="faint">Reading…</p>`}</section>`;
}

/** @param {string} strip @param {number} digit */
function countOf(strip, digit) {
  let n = 0;
  for (let place = 0; place < strip.length; place += 1) if (strip.charCodeAt(place) - 48 === digit) n += 1;
  return n;
}

/** @param {{arn: string, route: any, found: any, every: number}} props */
function Children({ arn, route, found, every }) {
  const { status = '', cursor = '', item = '' } = route.query;
  const { found: page, problem, again } = useRead('map-run/items', { arn, status, cursor, item }, { every });
  const [asked, setAsked] = useState('');
  const show = (/** @type {Event} */ event) => {
    event.preventDefault();
    go(changed(route, { item: asked.trim(), status: null }), true);
  };
  const shown = STATUSES.map((one, digit) => ({ ...one, digit })).filter((one) => one.name === status || (found.mapRun.executionCounts[COUNTED[one.digit]] ?? 0) > 0);
  return html`<section class="card"><div class="cardhead filters"><h2>Child executions</h2>
      <div class="tabs pill" role="group" aria-label="Status of the children">${[{ name: '', words: 'All' }, ...shown].map((one) => html`<button aria-pressed=${one.name === status && !item} onClick=${() => go(changed(route, { status: one.name, item: null }), true)}>${one.words}</button>`)}</div>
      <form class="filters space" onSubmit=${show}><label>Index <input class="short" inputmode="numeric" value=${asked || item} onInput=${(/** @type {any} */ event) => setAsked(event.target.value)} /></label><button class="action">Show</button></form></div>
    ${found.childType === 'EXPRESS' ? html`<p class="faint pad">Express executions keep no history, so they have no pages of their own.</p>` : null}
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${page ? html`<${Rows} rows=${page.items} now=${found.nowMs} isBatch=${Boolean(found.batch)} />` : problem ? null : html`<p class="faint pad">Reading…</p>`}</section>
    <${Pages} route=${route} next=${page?.next ?? null} />`;
}

const COUNTED = ['pending', 'running', 'succeeded', 'failed', 'timedOut', 'aborted', 'pendingRedrive'];
const TONES = Object.fromEntries(STATUSES.map((one) => [one.name, one]));

/** @param {{rows: any[], now: number, isBatch: boolean}} props */
function Rows({ rows, now, isBatch }) {
  if (!rows.length) return html`<p class="faint pad">No child execution matches.</p>`;
  return html`<div class="scroll"><table class="list"><thead><tr><th class="end">Index</th><th>Execution</th><th>Status</th>${isBatch ? html`<th class="end">Items</th>` : null}<th>Started (UTC)</th><th class="end">Took</th><th>Error</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.index}><td class="end">${row.index.toLocaleString('en-GB')}</td>
      <td class="name roomy">${row.arn ? html`<a href=${format('execution', row.arn)}>${row.name}</a>` : row.name}</td>
      <td><${ToneBadge} tone=${TONES[row.status].tone} words=${`${TONES[row.status].words}${row.redrives ? `, redriven` : ''}`} /></td>
      ${isBatch ? html`<td class="end">${count(row.items)}</td>` : null}
      <td>${row.startedMs ? html`<span title=${iso(row.startedMs)}>${instant(row.startedMs)}</span>` : html`<span class="faint">–</span>`}</td>
      <td class="end">${row.startedMs && row.stoppedMs ? duration(row.stoppedMs - row.startedMs) : row.status === 'RUNNING' ? html`<span class="faint">${duration(Math.max(0, now - row.startedMs))} so far</span>` : ''}</td>
      <td class="error">${row.error ? html`<bdi>${row.error}</bdi>` : ''}${row.cause ? html` <span class="faint whole"><bdi>${row.cause.length > MOST_CAUSE ? `${row.cause.slice(0, MOST_CAUSE)}…` : row.cause}</bdi></span>` : null}</td></tr>`)}</tbody></table></div>`;
}

/** @param {{found: any, arn: string, server: any, again: () => void}} props */
function Actions({ found, arn, server, again }) {
  const [dialog, setDialog] = useState('');
  if (!server?.mayWrite) return null;
  const isRunning = found.mapRun.status === 'RUNNING';
  const canRedrive = found.parent.redriveStatus === 'REDRIVABLE';
  return html`${isRunning ? html`<button class="action" onClick=${() => setDialog('limits')}>Change limits</button>` : null}
    ${!isRunning && found.mapRun.status !== 'SUCCEEDED' ? html`<button class="action" disabled=${!canRedrive} title=${canRedrive ? '' : found.parent.redriveReason ?? ''} onClick=${() => setDialog('redrive')}>Redrive</button>` : null}
    ${dialog === 'limits' ? html`<${Limits} run=${found.mapRun} arn=${arn} onClose=${() => setDialog('')} again=${again} />` : null}
    ${dialog === 'redrive' ? html`<${Redrive} found=${found} onClose=${() => setDialog('')} again=${again} />` : null}`;
}

/** @param {{run: any, arn: string, onClose: () => void, again: () => void}} props */
function Limits({ run, arn, onClose, again }) {
  const [most, setMost] = useState(String(run.maxConcurrency));
  const [percent, setPercent] = useState(String(run.toleratedFailurePercentage));
  const [failures, setFailures] = useState(String(run.toleratedFailureCount));
  const { isBusy, problem, run: start } = useAction();
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    start(async () => {
      /** @type {Record<string, unknown>} */
      const request = { mapRunArn: arn };
      if (most !== String(run.maxConcurrency)) request.maxConcurrency = Number(most);
      if (percent !== String(run.toleratedFailurePercentage)) request.toleratedFailurePercentage = Number(percent);
      if (failures !== String(run.toleratedFailureCount)) request.toleratedFailureCount = Number(failures);
      if (Object.keys(request).length > 1) await call('states', 'UpdateMapRun', request);
      again();
      onClose();
    });
  };
  const field = (/** @type {string} */ words, /** @type {string} */ value, /** @type {any} */ set, /** @type {any} */ more) => html`<label>${words}<input type="number" required min="0" value=${value} ...${more} onInput=${(/** @type {any} */ event) => set(event.target.value)} /></label>`;
  return html`<${Dialog} title="Change the limits of this Map Run" onClose=${onClose}><form class="form" onSubmit=${save}>
    ${field('Children at a time (0: no limit)', most, setMost, { step: 1 })}
    ${field('Tolerated failures, in per cent of all items', percent, setPercent, { max: 100, step: 'any' })}
    ${field('Tolerated failures, as a number of items', failures, setFailures, { step: 1 })}
    <p class="faint">Fewer children at a time stop none that run; a tolerance that is exceeded already fails the run.</p>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>Change</button></footer></form><//>`;
}

/** @param {{found: any, onClose: () => void, again: () => void}} props */
function Redrive({ found, onClose, again }) {
  const { isBusy, problem, run } = useAction();
  const failed = found.mapRun.executionCounts.failed + found.mapRun.executionCounts.timedOut + found.mapRun.executionCounts.aborted;
  const start = () => run(async () => {
    await call('states', 'RedriveExecution', { executionArn: found.parent.arn });
    again();
    onClose();
  });
  return html`<${Dialog} title="Redrive the execution" onClose=${onClose}><div class="form"><p>The execution <b><bdi>${lastOf(found.parent.arn)}</bdi></b> goes on where it failed. This Map Run starts its ${plural(failed, 'child', 'children')} again that did not succeed, and those that were never started.</p>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy} onClick=${start}>Redrive</button></footer></div><//>`;
}
