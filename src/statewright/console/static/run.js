// The page of one execution: facts, graph and state, and the deck below; what is chosen stands in the address.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { go, route } from './navigation.js';
import { Deck } from './deck.js';
import { count, dollars, duration, instant, iso, offset, plural, zoneName } from './format.js';
import { Graph } from './graph.js';
import { Icon, StatusBadge, statusWords } from './icons.js';
import { Later } from './later.js';
import { connection } from './live.js';
import { useRun } from './live_run.js';
import { begunBy, firstSelection, origin, visitAt } from './model.js';
import { Panel } from './panel.js';
import { Problem } from './parts.js';
import { makePayloads } from './payloads.js';
import { format } from './route.js';
import { RunActions } from './run_actions.js';
import { isStored } from './run_comparisons.js';

/** @param {any} props */
export function Page({ route: { id: arn, query }, server }) {
  // Without an event in its address the page follows the run; with one, it stays there.
  const live = useRun(arn, !query.at);
  const { run, problem, load } = live;
  const mayPass = problem && (problem.code === 'Unreachable' || problem.status >= 500);
  // What was read stays on the page while a later read fails.
  if (problem && !mayPass && !run) {
    return html`<div class="empty"><h1>${problem.code === 'ExecutionDoesNotExist' ? 'There is no such execution' : 'This cannot be shown'}</h1>
      <p>${problem.message}</p><p>${problem.code === 'ExecutionDoesNotExist' ? 'Its name may be wrong, or its retention is over and it was deleted. ' : ''}<a href=${format('executions')}>All executions</a></p></div>`;
  }
  const trouble = problem ? html`<${Problem} problem=${problem} again=${load} />` : null;
  if (!run) return trouble ?? html`<p class="faint pad">Reading…</p>`;
  return html`${trouble}<${Run} run=${run} live=${live} arn=${arn} query=${query} icons=${server?.icons} server=${server} reload=${load} />`;
}

const waitingBanner = () => import('./waiting.js').then((module) => module.WaitingBanner);

/** @param {any} run */
function mayWait(run) {
  return run.head.status === 'RUNNING' && run.states.some((/** @type {any} */ state) => state.waits && !state.apart);
}

/** @param {any} props */
function Run({ run, live, arn, query, icons, server, reload }) {
  const { core } = run;
  const payloads = useMemo(() => makePayloads(arn), [arn]);
  const at = clamp(Number(query.at) || run.length, 1, Math.max(1, run.length));
  const best = useMemo(() => firstSelection(run), [core]);
  const first = at < run.length ? run.visits[run.visitOf(at)] ?? best : best;
  const name = query.state && run.byName.has(query.state) ? query.state : first ? run.states[first.state].name : run.states[0]?.name ?? '';
  const state = run.byName.get(name);
  const visit = state ? visitAt(state, query.visit ? run.visits[Number(query.visit)] : first, at) : null;
  const { set, onAt, onSelect, onView } = useMemo(() => actions(arn, run.length), [arn, run.length]);
  const mode = { isFollowing: !query.at, isRunning: live.isRunning, news: live.news, follow: () => set({ at: null }), pause: () => set({ at: run.length }) };
  useKeys({ run, at, state, visit, onAt, set });
  return html`<${Head} run=${run} head=${live.head} arn=${arn} at=${at} state=${state} visit=${visit} server=${server} reload=${reload} live=${live} /><${Notices} live=${live} run=${run} />
    <${Banner} run=${run} onSelect=${onSelect} />${mayWait(run) && isStored(run, arn) ? html`<${Later} load=${waitingBanner} quiet=${true} run=${run} arn=${arn} server=${server} reload=${reload} />` : null}
    <div class="stage"><${Graph} run=${run} at=${at} selected=${name} icons=${icons} onSelect=${onSelect} />
      <${Panel} run=${run} name=${name} visit=${visit} at=${at} tab=${query.tab ?? (visit && visit.end && visit.status !== 'failed' ? 'changes' : 'input')} payloads=${payloads} icons=${icons}
        onTab=${(/** @type {string} */ tab) => set({ tab })} onVisit=${(/** @type {any} */ one) => set({ state: name, visit: one.index })} /></div>
    <${Deck} run=${run} arn=${arn} at=${at} mode=${mode} aways=${live.aways} view=${query.view ?? 'timeline'} selected=${name} onAt=${onAt} onView=${onView} onSelect=${onSelect} />`;
}

/** What changes the address. They add to it as it is when they are called. @param {string} arn @param {number} length */
function actions(arn, length) {
  const set = (/** @type {Record<string, any>} */ change) => go(format('execution', arn, { ...route.value.query, ...change }), true);
  return {
    set,
    onAt: (/** @type {number} */ event) => set({ at: event >= length ? null : event }),
    onSelect: (/** @type {string} */ chosen) => set({ state: chosen, visit: null }),
    onView: (/** @type {string} */ view) => set({ view: view === 'timeline' ? null : view }),
  };
}

/** @param {any} props */
function Head(props) {
  const { run, at, head, live } = props;
  const isScrubbed = at < run.length;
  const fact = (/** @type {string} */ words, /** @type {any} */ value, /** @type {string} */ more = '', /** @type {string} */ title = '') => html`<div title=${title}><dt>${words}</dt><dd>${value} ${more ? html`<span class="faint">${more}</span>` : null}</dd></div>`;
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a><span>/</span><a href=${format('machine', head.machineArn)}>${head.machine}</a><span>/</span>${head.mapRunArn ? html`<a href=${format('map-run', head.mapRunArn)}>Map Run</a>` : html`<a href=${format('executions', '', { machine: head.machineArn })}>Executions</a>`}</div>
    <div class="title"><h1>${head.name}</h1><${StatusBadge} status=${head.status} /><${Spoken} name=${head.name} status=${head.status} />
      ${live.isRunning && !connection.value.isOpen ? html`<span class="badge t-wait">not connected</span>` : null}
      ${isScrubbed ? html`<span class="badge t-accent"><${Icon} name="clock" size=${12} />as it was at ${offset(run.timeAt(at))}</span>` : null}
      <button class="plain" aria-label="Copy the ARN" title=${head.arn} onClick=${() => navigator.clipboard?.writeText(head.arn)}><${Icon} name="copy" /></button>
      <${RunActions} ...${props} /></div>
    <dl class="factbar">${fact('Started', instant(head.startedMs), zoneName(), iso(head.startedMs))}
      ${fact('Duration', duration(head.endedMs === null ? run.endMs : head.endedMs - head.startedMs), head.status === 'RUNNING' ? 'so far' : '')}
      ${fact('Transitions', count(head.transitions))}${fact('Retries', count(head.retries))}
      ${fact('History', head.events.toLocaleString('en-GB'), 'events')}${fact('Cost in the cloud', dollars(head.usd), 'estimate')}
      ${head.redriveCount ? fact('Redrives', head.redriveCount) : null}${run.node ? fact('Node', run.node) : null}</dl></header>`;
}

/** Says a change of the status once, to those who do not see the badge. @param {{name: string, status: string}} props */
function Spoken({ name, status }) {
  const before = useRef(status);
  const [words, setWords] = useState('');
  useEffect(() => {
    if (before.current !== status) setWords(`${name}: ${statusWords(status)}`);
    before.current = status;
  }, [status]);
  return html`<span class="unseen" role="status">${words}</span>`;
}

/** What happened to the connection, or to the execution itself. @param {any} props */
function Notices({ live, run }) {
  const { gone, lost, aways } = live;
  const [seen, setSeen] = useState(0);
  const away = aways[aways.length - 1];
  return html`${gone ? html`<div class="banner wait" role="status"><${Icon} name="clock" /><span><b>This execution was deleted.</b> <bdi>${gone}</bdi> The page shows what it had read; payloads can no longer be read.</span></div>` : null}
    ${away && aways.length > seen && !gone ? html`<div class="banner quiet" role="status"><${Icon} name="clock" /><span>${away.isRestart ? 'The server was away' : 'The connection was lost'} for ${duration(away.toMs - away.fromMs)}; ${lost
      ? `it came back without ${plural(lost, 'event')} that this page had shown` : 'nothing was lost'}.</span><button class="action" onClick=${() => setSeen(aways.length)}>OK</button></div>` : null}`;
}

/** @param {any} props */
function Banner({ run, onSelect }) {
  const { head } = run;
  const began = useMemo(() => origin(run), [run.core]);
  if (head.quarantine) return html`<div class="banner fail" role="alert"><span><b>Held back.</b> ${head.quarantine}</span></div>`;
  if (head.status !== 'FAILED' && head.status !== 'TIMED_OUT' && head.status !== 'ABORTED') return null;
  const state = began ? run.states[began.state].name : null;
  const error = began?.attempts.findLast((/** @type {any} */ one) => one.failed)?.error;
  const cause = typeof head.cause === 'string' && head.cause.length > 300 ? `${head.cause.slice(0, 299)}…` : head.cause;
  return html`<div class="banner fail" role="alert"><${Icon} name="cross" /><span><bdi><b>${head.error ?? (head.status === 'ABORTED' ? 'Aborted' : 'Timed out')}</b></bdi>${cause ? html`: <bdi>${cause}</bdi>` : ''}
    ${state ? html` <span class="faint">It began in <button class="link" onClick=${() => onSelect(state)}>${state}</button>${error && error !== head.error ? ` with ${error}` : ''}.</span>` : null}</span></div>`;
}

/** @param {any} props */
function useKeys({ run, at, state, visit, onAt, set }) {
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('dialog')) return;
      const beside = (/** @type {number} */ by) => {
        const other = state && visit ? state.visits[begunBy(state, visit.begin) - 1 + by] : null;
        if (other) set({ state: state.name, visit: other.index, at: other.begin > at ? other.begin : run.length === at ? null : at });
      };
      /** @type {Record<string, () => void>} */
      const keys = {
        '[': () => onAt(Math.max(1, at - 1)), ']': () => onAt(Math.min(run.length, at + 1)),
        '{': () => beside(-1), '}': () => beside(1), l: () => set({ at: null }),
      };
      if (event.key === ' ' && target.tagName !== 'BUTTON' && target.getAttribute('role') !== 'button') keys[' '] = () => document.getElementById('play')?.click();
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

/** @param {number} value @param {number} low @param {number} high */
function clamp(value, low, high) {
  return Math.min(high, Math.max(low, Math.round(value)));
}
