// The page of one state machine, of a version or of an alias: its executions, graph, definition, versions and settings.

import { html, useEffect, useState } from './vendor.js';
import { call } from './api.js';
import { go, route } from './navigation.js';
import { ago, duration, instant, iso } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { Later } from './later.js';
import { PAGES } from './pages.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format, qualifierOf } from './route.js';

/**
 * @typedef {{arn: string, machine: string, shown: any, server: any, query: Record<string, string>, set: (more: Record<string, any>) => void, again: () => void}} TabProps
 *   `machine` is the ARN without version or alias, `shown` what DescribeStateMachine answers.
 */

/** Tabs of the page: key, title, what loads the component with TabProps, and for which machines there is one. @type {[string, string, () => Promise<any>, ((shown: any) => boolean)?][]} */
const TABS = [
  ['executions', 'Executions', async () => Executions, (shown) => shown.type === 'STANDARD'],
  ['graph', 'Graph', () => import('./machine_tabs.js').then((found) => found.MachineGraph)],
  ['definition', 'Definition', () => import('./machine_tabs.js').then((found) => found.Definition)],
  ['versions', 'Versions', () => import('./machine_versions.js').then((found) => found.Versions)],
  ['diff', 'Diff of two', () => import('./machine_tabs.js').then((found) => found.Diff)],
  ['heat', 'Heat', () => import('./machine_figures.js').then((found) => found.HeatTab), (shown) => shown.type === 'STANDARD'],
  ['occupancy', 'Occupancy', () => import('./machine_figures.js').then((found) => found.OccupancyTab), (shown) => shown.type === 'STANDARD'],
  ['cost', 'Cost', () => import('./machine_figures.js').then((found) => found.CostTab), (shown) => shown.type === 'STANDARD'],
  ['express', 'Record', () => import('./machine_figures.js').then((found) => found.ExpressTab), (shown) => shown.type === 'EXPRESS'],
  ['metrics', 'Metrics', () => import('./machine_metrics.js').then((found) => found.Metrics)],
  ['tags', 'Tags', () => import('./machine_settings.js').then((found) => found.Tags)],
  ['settings', 'Settings', () => import('./machine_settings.js').then((found) => found.Settings)],
];

/** @param {any} props */
export function Page({ route: { id: arn, query }, server }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const machine = arn.split(':').slice(0, 7).join(':');
  const load = () => describe(arn).then((found) => {
    setShown(found);
    setProblem(null);
  }, setProblem);
  useEffect(() => {
    load();
  }, [arn]);
  if (problem && !shown && problem.status !== 0 && problem.status < 500) {
    return html`<div class="empty"><h1>${problem.code === 'StateMachineDoesNotExist' ? 'There is no such state machine' : 'This cannot be shown'}</h1><p><bdi>${problem.message}</bdi></p>
      <p><a href=${format('machines')}>All state machines</a></p></div>`;
  }
  const trouble = problem ? html`<${Problem} problem=${problem} again=${load} />` : null;
  if (!shown) return trouble ?? html`<p class="faint pad">Reading…</p>`;
  const tabs = TABS.filter(([, , , fits]) => !fits || fits(shown));
  const chosen = tabs.find(([key]) => key === query.tab) ?? tabs[0];
  const set = (/** @type {Record<string, any>} */ more) => go(format('machine', arn, { ...route.value.query, ...more }), true);
  const props = { arn, machine, shown, server, query, set, again: load };
  return html`${trouble}<${Head} ...${props} />
    <${Tabs} items=${tabs.map(([key, title]) => [key, title])} chosen=${chosen[0]} label="Parts of the state machine" panel="machinetab" look="wb-tabs" onChoose=${(/** @type {string} */ key) => go(format('machine', arn, { tab: key }), true)} />
    <div class="machinebody" role="tabpanel" id="machinetab" aria-labelledby=${`machinetab-${chosen[0]}`} tabindex="0"><${Later} key=${chosen[0]} load=${chosen[2]} ...${props} /></div>`;
}

/** A machine or version; of an alias, the version that most of its executions run. @param {string} arn */
async function describe(arn) {
  const qualifier = qualifierOf(arn);
  if (!qualifier || /^\d+$/.test(qualifier)) return call('states', 'DescribeStateMachine', { stateMachineArn: arn });
  const alias = await call('states', 'DescribeStateMachineAlias', { stateMachineAliasArn: arn });
  const [first] = [...alias.routingConfiguration].sort((one, other) => other.weight - one.weight);
  return { ...(await call('states', 'DescribeStateMachine', { stateMachineArn: first.stateMachineVersionArn })), alias };
}

/** @param {TabProps} props */
function Head({ arn, machine, shown, server }) {
  const qualifier = qualifierOf(arn);
  const may = server?.mayWrite ?? false;
  const description = shown.alias?.description || shown.description;
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a>${qualifier ? html`<span>/</span><a href=${format('machine', machine)}>${shown.name}</a>` : null}</div>
    <div class="title"><h1><bdi>${shown.name}</bdi>${qualifier ? html`<span class="faint">:<bdi>${qualifier}</bdi></span>` : null}</h1>
      <span class="badge t-accent">${shown.type === 'STANDARD' ? 'Standard' : 'Express'}</span>${shown.status === 'ACTIVE' ? null : html`<span class="badge t-wait">Is being deleted</span>`}
      <button class="plain" aria-label="Copy the ARN" title=${arn} onClick=${() => navigator.clipboard?.writeText(arn)}><${Icon} name="copy" /></button>
      <div class="actions">${may && Object.hasOwn(PAGES, 'start') ? html`<a class="action primary" href=${format('start', arn)}><${Icon} name="play" size=${12} />Start</a>` : null}
        <a class="action" href=${format('workbench', '', { machine: shown.stateMachineArn })}><${Icon} name="wrench" size=${13} />Edit in Workbench</a>
        ${Object.hasOwn(PAGES, 'what-if') ? html`<a class="action" href=${format('what-if', '', { machine })}>What if</a>` : null}</div></div>
    <dl class="factbar"><div title=${iso(shown.creationDate)}><dt>Created</dt><dd>${instant(shown.creationDate)} <span class="faint">UTC</span></dd></div>
      <div><dt>Revision</dt><dd><code>${(shown.revisionId ?? 'first').slice(0, 13)}</code></dd></div>
      ${description ? html`<div><dt>Description</dt><dd><bdi>${description}</bdi></dd></div>` : null}
      ${shown.alias ? html`<div><dt>Alias of</dt><dd>${shown.alias.routingConfiguration.map((/** @type {any} */ one) => html`<a href=${format('machine', one.stateMachineVersionArn)}>version ${qualifierOf(one.stateMachineVersionArn)}</a> <span class="faint">${one.weight} %</span> `)}</dd></div>` : null}</dl></header>`;
}

/** @param {TabProps} props */
function Executions({ machine, shown }) {
  const { found, problem, again } = useRead('executions', { machine, limit: 20 }, { every: 5000 });
  if (problem && !found) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  if (!found.executions.length) {
    return html`<div class="empty card"><h2>No execution yet</h2><p>Start one with <code>aws stepfunctions start-execution --state-machine-arn ${machine}</code></p></div>`;
  }
  const now = found.nowMs ?? Date.now();
  return html`<div class="card scroll"><table class="list"><thead><tr><th>Name</th><th>Status</th><th>Started</th><th class="end">Took</th><th>Error</th></tr></thead>
    <tbody>${found.executions.map((/** @type {any} */ one) => html`<tr key=${one.arn}><td class="name"><a href=${format('execution', one.arn)}><bdi>${one.name}</bdi></a></td><td><${StatusBadge} status=${one.status} /></td>
      <td title=${iso(one.startedMs)}>${ago(one.startedMs, now)}</td><td class="end">${one.stoppedMs === null ? 'running' : duration(one.stoppedMs - one.startedMs)}</td><td class="error"><bdi>${one.error ?? ''}</bdi></td></tr>`)}</tbody></table></div>
    <p><a href=${format('executions', '', { machine })}>All executions of ${shown.name}</a></p>`;
}
