// One function: its figures, a test invocation, its log, settings, versions, and what invokes it.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { filled } from './chart_scale.js';
import { TimeChart } from './charts.js';
import { Dialog, useAction } from './dialogs.js';
import { count, duration, instant, iso } from './format.js';
import { Invoke } from './function_invoke.js';
import { wholeNumber } from './inputs.js';
import { go } from './navigation.js';
import { GroupLog } from './log_view.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { At, changed, lastOf, Missing } from './service_parts.js';
import { useCall } from './use_call.js';

const EVERY_MS = 2000;
/** @type {[string, string][]} */
const TABS = [['invoke', 'Test'], ['log', 'Log'], ['settings', 'Settings'], ['versions', 'Versions'], ['sources', 'Event sources']];

/** @param {{route: any, server: any}} props */
export function Page({ route, server }) {
  const name = route.id;
  const { found, problem, again } = useRead('function', { name }, { every: EVERY_MS });
  const [isLimited, setLimited] = useState(false);
  if (problem && !found) return html`<${Missing} problem=${problem} again=${again} what="function"><a href=${format('functions')}>All functions</a><//>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const tab = TABS.some(([key]) => key === route.query.tab) ? route.query.tab : 'invoke';
  const settings = found.configuration;
  return html`<header class="head"><div class="crumbs"><a href=${format('functions')}>Functions</a></div><div class="title"><h1><bdi>${found.name}</bdi></h1><span class=${`badge t-${settings.State === 'Active' ? 'ok' : 'wait'}`}>${settings.State ?? 'Active'}</span>
      ${server?.mayWrite ? html`<div class="actions"><button class="action" onClick=${() => setLimited(true)}>Reserve concurrency…</button></div>` : null}</div>
      <dl class="factbar"><div><dt>Runtime</dt><dd>${found.runtime ?? 'image'}</dd></div><div><dt>Memory</dt><dd>${count(found.memory)} MB</dd></div><div><dt>Timeout</dt><dd>${duration(found.timeout * 1000)}</dd></div>
        <div><dt>Invocations, 24 h</dt><dd>${count(found.invocations)}</dd></div><div><dt>Errors</dt><dd class=${found.errors ? 'fail' : ''}>${count(found.errors)}</dd></div><div><dt>Throttles</dt><dd class=${found.throttles ? 'fail' : ''}>${count(found.throttles)}</dd></div>
        <div><dt>p95</dt><dd>${found.invocations ? duration(found.p95Ms) : '–'}</dd></div><div><dt>Changed</dt><dd title=${iso(found.modifiedMs)}>${instant(found.modifiedMs)} <span class="faint">UTC</span></dd></div></dl></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Figures} found=${found} />
    <section class="card"><${Tabs} items=${TABS} chosen=${tab} label="Parts of the function" panel="function-part" onChoose=${(/** @type {string} */ key) => go(changed(route, { tab: key === 'invoke' ? null : key }), true)} />
      <div role="tabpanel" id="function-part" aria-labelledby=${`function-part-${tab}`} tabindex="0">
      ${tab === 'invoke' ? html`<${Invoke} found=${found} server=${server} again=${again} />` : tab === 'log' ? html`<${GroupLog} group=${settings.LoggingConfig?.LogGroup ?? `/aws/lambda/${found.name}`} />`
    : tab === 'settings' ? html`<${Settings} found=${found} />` : tab === 'versions' ? html`<${Versions} found=${found} />` : html`<${Sources} name=${found.name} server=${server} />`}</div></section>
    ${isLimited ? html`<${Reserve} found=${found} onClose=${() => setLimited(false)} again=${again} />` : null}`;
}

const HOUR_MS = 3600000;
const MINUTE_MS = 60000;

/** @param {{found: any}} props */
function Figures({ found }) {
  const to = found.nowMs - (found.nowMs % MINUTE_MS);
  const metric = (/** @type {string} */ id, /** @type {string} */ of, /** @type {string} */ stat) => ({ Id: id, MetricStat: { Metric: { Namespace: 'AWS/Lambda', MetricName: of, Dimensions: [{ Name: 'FunctionName', Value: found.name }] }, Period: 60, Stat: stat } });
  const queries = [metric('running', 'ConcurrentExecutions', 'Maximum'), metric('invocations', 'Invocations', 'Sum'), metric('errors', 'Errors', 'Sum'), metric('throttles', 'Throttles', 'Sum'), metric('p95', 'Duration', 'p95')];
  // Instants in requests are seconds, those in answers milliseconds.
  const { found: figures, problem } = useCall('monitoring', 'GetMetricData', { StartTime: (to - HOUR_MS) / 1000, EndTime: (to + MINUTE_MS) / 1000, ScanBy: 'TimestampAscending', MetricDataQueries: queries }, { every: 10000, keep: true });
  if (problem) return html`<p class="fail">${problem.message}</p>`;
  const points = (/** @type {string} */ id) => {
    const one = (figures?.MetricDataResults ?? []).find((/** @type {any} */ each) => each.Id === id);
    return (one?.Timestamps ?? []).map((/** @type {number} */ ms, /** @type {number} */ place) => [ms, one.Values[place]]);
  };
  const counted = (/** @type {string} */ id) => (figures && points(id).length ? filled(points(id), to - HOUR_MS, to + MINUTE_MS, MINUTE_MS) : []);
  const span = { from: to - HOUR_MS, to: to + MINUTE_MS, none: figures ? 'Nothing was invoked in the last hour.' : 'Reading…' };
  const limit = found.reserved === null ? null : { value: found.reserved, name: 'reserved' };
  return html`<div class="parts"><section class="card"><${TimeChart} title="Concurrency, last hour" ...${span} limit=${limit} series=${[{ name: 'running', tone: 'run', points: points('running'), area: true }]} /></section>
    <section class="card"><${TimeChart} title="Invocations a minute" ...${span} series=${[{ name: 'invocations', tone: 'accent', points: counted('invocations'), area: true }, { name: 'errors', tone: 'fail', points: counted('errors') }, { name: 'throttles', tone: 'wait', points: counted('throttles') }]} /></section>
    <section class="card"><${TimeChart} title="Duration, p95" ...${span} unit=${duration} series=${[{ name: 'p95', tone: 'accent', points: points('p95'), dots: true }]} /></section></div>`;
}

/** @param {{found: any, onClose: () => void, again: () => void}} props */
function Reserve({ found, onClose, again }) {
  const [text, setText] = useState(found.reserved === null ? '' : String(found.reserved));
  const { isBusy, problem, run } = useAction();
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      if (text.trim()) await call('lambda', 'PutFunctionConcurrency', { FunctionName: found.name, ReservedConcurrentExecutions: wholeNumber(text, 'The number of invocations') });
      else await call('lambda', 'DeleteFunctionConcurrency', { FunctionName: found.name });
      again();
      onClose();
    });
  };
  return html`<${Dialog} title="Reserve concurrency" onClose=${onClose}><form class="form" onSubmit=${save}>
    <label>Invocations at a time (empty: none reserved; 0: no invocation at all) <input inputmode="numeric" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <p class="faint">What is reserved is taken from the ${count(found.account)} of the account, and is the most that this function gets: further invocations are throttled.</p>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>Save</button></footer></form><//>`;
}

/** @param {{found: any}} props */
function Settings({ found }) {
  const [isShown, setShown] = useState(false);
  const one = found.configuration;
  const rows = [['ARN', one.FunctionArn], ['Description', one.Description], ['Handler', one.Handler], ['Role', one.Role], ['Architectures', (one.Architectures ?? []).join(', ')], ['Code', `${count(one.CodeSize)} bytes, SHA-256 ${one.CodeSha256}`], ['Layers', (one.Layers ?? []).map((/** @type {any} */ layer) => layer.Arn).join(', ')],
    ['Dead letters', one.DeadLetterConfig?.TargetArn], ['Log group', one.LoggingConfig?.LogGroup], ['Reserved concurrency', found.reserved === null ? 'none' : count(found.reserved)]].filter(([, value]) => value);
  return html`<div class="block stack"><dl class="pairs">${rows.map(([name, value]) => html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`)}</dl>
    <div class="filters"><h3>Environment</h3>${found.environment.length ? html`<button class="action small" aria-pressed=${isShown} onClick=${() => setShown(!isShown)}>${isShown ? 'Hide values' : 'Show values'}</button>` : null}</div>
    ${found.environment.length ? html`<dl class="pairs">${found.environment.map((/** @type {any} */ each) => html`<dt><code><bdi>${each.name}</bdi></code></dt><dd>${each.value === null ? html`<span class="faint">••• a secret by its name, never sent to this page</span>` : isShown ? html`<bdi>${each.value}</bdi>` : html`<span aria-label="hidden">•••</span>`}</dd>`)}</dl>` : html`<p class="faint">No variables are set.</p>`}</div>`;
}

/** @param {{found: any}} props */
function Versions({ found }) {
  const { found: aliases, problem } = useCall('lambda', 'ListAliases', { FunctionName: found.name });
  const of = (/** @type {number} */ number) => (aliases?.Aliases ?? []).filter((/** @type {any} */ one) => one.FunctionVersion === String(number) || String(number) in (one.RoutingConfig?.AdditionalVersionWeights ?? {}));
  if (problem) return html`<p class="fail pad">${problem.message}</p>`;
  return html`<div class="scroll"><table class="list"><thead><tr><th>Version</th><th>Aliases</th><th>Description</th><th>Runtime</th><th>Changed</th></tr></thead><tbody>
    <tr><td class="name">$LATEST</td><td></td><td><bdi>${found.configuration.Description}</bdi></td><td>${found.runtime}</td><td><${At} ms=${found.modifiedMs} now=${found.nowMs} /></td></tr>
    ${found.versions.map((/** @type {any} */ one) => html`<tr key=${one.number}><td class="name">${one.number}</td><td>${of(one.number).map((/** @type {any} */ alias) => html`<span class="badge t-idle"><bdi>${alias.Name}</bdi>${alias.RoutingConfig?.AdditionalVersionWeights?.[one.number] !== undefined ? ` ${Math.round(100 * alias.RoutingConfig.AdditionalVersionWeights[one.number])} %` : ''}</span> `)}</td>
      <td><bdi>${one.description}</bdi></td><td>${one.runtime}</td><td><${At} ms=${one.modifiedMs} now=${found.nowMs} /></td></tr>`)}</tbody></table></div>
    ${found.versionCount > found.versions.length ? html`<p class="faint pad">The newest ${found.versions.length} of ${count(found.versionCount)} are shown.</p>` : null}`;
}

/** @param {{name: string, server: any}} props */
function Sources({ name, server }) {
  const { found, problem, again } = useCall('lambda', 'ListEventSourceMappings', { FunctionName: name }, { every: EVERY_MS });
  const { isBusy, problem: refusal, run } = useAction();
  if (problem) return html`<p class="fail pad">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const rows = found.EventSourceMappings;
  if (!rows.length) return html`<p class="faint pad">No queue and no stream invokes this function. <code>statewright aws lambda create-event-source-mapping</code> makes a mapping.</p>`;
  const set = (/** @type {any} */ one, /** @type {boolean} */ enabled) => run(async () => {
    await call('lambda', 'UpdateEventSourceMapping', { UUID: one.UUID, Enabled: enabled });
    again();
  });
  return html`${refusal ? html`<p class="fail pad" role="alert">${refusal.message}</p>` : null}<div class="scroll"><table class="list"><thead><tr><th>Source</th><th>State</th><th class="end">Batch</th><th class="end">At most</th><th>Last result</th><th></th></tr></thead><tbody>${rows.map((/** @type {any} */ one) => {
    const source = one.EventSourceArn ?? '';
    const enabled = one.State === 'Enabled' || one.State === 'Enabling';
    return html`<tr key=${one.UUID}><td class="name roomy">${source.includes(':sqs:') ? html`<a href=${format('queue', lastOf(source))}>${lastOf(source)}</a>` : html`<bdi>${source}</bdi>`}</td><td><span class=${`badge t-${enabled ? 'ok' : 'idle'}`}>${one.State}</span></td><td class="end">${one.BatchSize}</td>
      <td class="end">${one.ScalingConfig?.MaximumConcurrency ?? html`<span class="faint">any</span>`}</td><td>${one.LastProcessingResult ?? ''}</td>
      <td class="end">${server?.mayWrite ? html`<button class="action small" disabled=${isBusy} onClick=${() => set(one, !enabled)}>${enabled ? 'Disable' : 'Enable'}</button>` : null}</td></tr>`;
  })}</tbody></table></div>`;
}
