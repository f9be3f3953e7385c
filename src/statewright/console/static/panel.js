// What one visit did: a sentence, and tabs with its input, output, changes, attempts and definition.

import { html, useEffect, useMemo, useState } from './vendor.js';
import { diffLines, parsed } from './diff.js';
import { duration, offset } from './format.js';
import { Icon, ToneBadge, toneWords } from './icons.js';
import { Json, Lines, MOST_LINES } from './json.js';
import { Later } from './later.js';
import { attemptsAt, begunBy, toneOf, waitingTone } from './model.js';
import { Tabs } from './parts.js';
import { isStored } from './run_comparisons.js';
import { sentence } from './words.js';

const MOST_ATTEMPTS = 50;
const evaluated = () => import('./evaluated.js').then((module) => module.Evaluated);
const mapRunLink = () => import('./map_run_link.js').then((module) => module.MapRunLink);
const logs = () => import('./logs.js').then((module) => module.StateLogs);
const why = () => import('./why.js').then((module) => module.Why);
/** @type {[string, string][]} */
const TABS = [['input', 'Input'], ['output', 'Output'], ['changes', 'Changes'], ['evaluated', 'Evaluated'], ['attempts', 'Attempts'], ['logs', 'Logs'], ['definition', 'Definition']];
/** Tabs that ask the server about the execution. */
const STORED = new Set(['evaluated', 'logs']);

/** @param {any} props */
export function Panel({ run, name, visit, at, tab, payloads, icons, onTab, onVisit }) {
  const state = run.byName.get(name);
  if (!state) return html`<aside class="inspector card"><p class="faint pad">Choose a state.</p></aside>`;
  const shape = [...run.drawing.states, ...run.drawing.boxes].find((/** @type {any} */ one) => one.name === name);
  const begun = begunBy(state, at);
  const place = visit ? begunBy(state, visit.begin) - 1 : -1;
  const tone = visit ? (waitingTone(state, toneOf(visit, at))) : 'idle';
  const isOver = visit && visit.end > 0 && visit.end <= at;
  const until = visit ? (isOver ? visit.endMs : run.timeAt(at)) : 0;
  const attempts = visit ? attemptsAt(visit, at) : [];
  const shown = TABS.filter(([key]) => (key !== 'attempts' || attempts.length) && (!STORED.has(key) || isStored(run, run.head.arn)))
    .map(([key, words]) => [key, words, key === 'attempts' ? html`<span class="pip">${attempts.length}</span>` : null]);
  const active = shown.some(([key]) => key === tab) ? tab : visit ? 'input' : 'definition';
  return html`<aside class="inspector card" aria-label="State">
    <header class="what"><span class=${`tile t-${tone}`}>${icons ? html`<svg class="icon" width="18" height="18" viewBox="0 0 16 16" aria-hidden="true"><path d=${icons.services[shape?.service] ?? icons.kinds[shape?.kind ?? state.type]} /></svg>` : null}</span>
      <div><h2>${name}</h2><p class="faint">${[state.type, shape?.detail].filter(Boolean).join(' · ')}</p></div>
      <${ToneBadge} tone=${tone} words=${toneWords(tone, Boolean(visit), state.apart)} /></header>
    ${visit ? html`<p class="facts"><b>${offset(visit.beginMs)}</b> entered <b>${duration(Math.max(0, until - visit.beginMs))}</b> ${isOver ? 'took' : 'so far'}
      ${visit.kind === 2 ? html` <b>#${visit.strand}</b> item` : null} <span>events ${visit.begin}${visit.end ? `–${isOver ? visit.end : at}` : ''}</span></p>
      ${state.visits.length > 1 ? html`<p class="visits"><button aria-label="Earlier visit" disabled=${place <= 0} onClick=${() => onVisit(state.visits[place - 1])}><${Icon} name="left" size=${12} /></button>
        visit ${(place + 1).toLocaleString('en-GB')} of ${begun.toLocaleString('en-GB')}
        <button aria-label="Later visit" disabled=${place >= begun - 1} onClick=${() => onVisit(state.visits[place + 1])}><${Icon} name="right" size=${12} /></button></p>` : null}
      <p class=${`said t-${tone}`}>${sentence(run, visit, at)}</p><${Later} load=${mapRunLink} quiet=${true} run=${run} state=${state} visit=${visit} />` : html`<p class="said t-idle">${state.apart ? 'Runs in child executions of a Map, which are executions of their own.' : `Not reached${at < run.length ? ' yet' : ''}.`}</p>`}
    <${Tabs} items=${shown} chosen=${active} label="Parts of the visit" panel="part" onChoose=${onTab} />
    <div class="tabbody" role="tabpanel" id="part" aria-labelledby=${`part-${active}`} tabindex="0"><${Tab} key=${`${active} ${visit?.index}`} tab=${active} run=${run} state=${state} visit=${visit} attempts=${attempts} isOver=${isOver} payloads=${payloads} /></div>
  </aside>`;
}

/** @param {any} props */
function Tab({ tab, run, state, visit, attempts, isOver, payloads }) {
  const definition = useMemo(() => (tab === 'definition' ? definitionOf(run.definition, state.name) : null), [tab, run, state]);
  if (tab === 'definition') return html`<${Json} value=${definition} />`;
  if (!visit) return html`<p class="faint pad">There is nothing before the state is entered.</p>`;
  const origin = isStored(run, run.head.arn) ? html`<${Later} load=${why} quiet=${true} run=${run} visit=${visit} where=${tab} />` : null;
  if (tab === 'input') return html`<${Stored} payloads=${payloads} event=${visit.begin} member="input" none="This state had no input." origin=${origin} />`;
  if (tab === 'evaluated') return html`<${Later} load=${evaluated} arn=${run.head.arn} visit=${visit} />`;
  if (tab === 'logs') return html`<${Later} load=${logs} run=${run} state=${state} visit=${visit} isOver=${isOver} />`;
  if (tab === 'attempts') return html`<${Attempts} attempts=${attempts} payloads=${payloads} />`;
  if (!isOver) return html`<p class="faint pad">There is no output yet.</p>`;
  if (visit.status === 'failed' || visit.status === 'stopped') return html`<p class="faint pad">It ended without output.</p>`;
  if (tab === 'output') return html`<${Stored} payloads=${payloads} event=${visit.end} member="output" none="This state had no output." origin=${origin} />`;
  return html`<${Changes} visit=${visit} payloads=${payloads} />`;
}

const REST_MS = 60;

/** Reads payloads of events. @param {any} payloads @param {[number, string][]} wanted @returns {{found: any[] | null, problem: Error | null}} */
function usePayloads(payloads, wanted) {
  const [held, setHeld] = useState(/** @type {any} */ ({ found: null, problem: null }));
  const key = JSON.stringify(wanted);
  useEffect(() => {
    let isCurrent = true;
    // Visits that a run only passes, as it plays, are not read.
    const timer = setTimeout(() => Promise.all(wanted.map(([event, member]) => payloads.read(event, member))).then(
      (found) => isCurrent && setHeld({ found, problem: null }),
      (problem) => isCurrent && setHeld({ found: null, problem }),
    ), REST_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [payloads, key]);
  return held;
}

/** @param {any} props */
function Stored({ payloads, event, member, none, origin }) {
  const { found, problem } = usePayloads(payloads, [[event, member]]);
  if (problem) return html`<p class="fail pad" role="alert">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  return found[0] === null ? html`<p class="faint pad">${none}</p>` : html`<${Json} value=${found[0].value} whole=${found[0]} />${origin}`;
}

/** @param {any} props */
function Changes({ visit, payloads }) {
  const { found, problem } = usePayloads(payloads, [[visit.begin, 'input'], [visit.end, 'output'], [visit.end, 'assignedVariables']]);
  if (problem) return html`<p class="fail pad" role="alert">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  return html`<${Difference} found=${found} />`;
}

/** @param {any} props */
function Difference({ found }) {
  const [input, output, variables] = found;
  const { lines, more } = useMemo(() => diffLines(input?.value, output?.value, MOST_LINES), [found]);
  const assigned = useMemo(() => (variables ? opened(variables.value) : null), [found]);
  return html`<${Lines} lines=${lines} more=${more} />
    ${variables ? html`<h3 class="pad">Assigned variables</h3><${Json} value=${assigned} />` : null}`;
}

/** Values of variables are JSON texts. @param {any} value */
function opened(value) {
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, parsed(/** @type {string} */ (text))]));
}

/** @param {any} props */
function Attempts({ attempts, payloads }) {
  return html`<ol class="attempts">${attempts.slice(0, MOST_ATTEMPTS).map((/** @type {any} */ one) => html`<li key=${one.number}>
    <p><b>${one.number}</b> <${ToneBadge} tone=${one.failed ? 'fail' : one.end ? 'ok' : 'run'} words=${one.failed ? one.error ?? 'Failed' : one.end ? 'Succeeded' : 'Running'} />
      <span class="faint">${offset(one.beginMs)}${one.endMs >= 0 ? ` · ${duration(one.endMs - one.beginMs)}` : ''}${one.waitedMs > 0 ? ` · then waited ${duration(one.waitedMs)}` : ''}</span></p>
    ${one.failed ? html`<${Cause} event=${one.end} payloads=${payloads} />` : null}</li>`)}</ol>
    ${attempts.length > MOST_ATTEMPTS ? html`<p class="faint pad">and ${(attempts.length - MOST_ATTEMPTS).toLocaleString('en-GB')} more</p>` : null}`;
}

/** @param {any} props */
function Cause({ event, payloads }) {
  const { found } = usePayloads(payloads, [[event, 'cause']]);
  return found && found[0] ? html`<${Json} value=${found[0].value} />` : null;
}

/** The part of a definition that is a state. @param {any} definition @param {string} name @returns {any} */
export function definitionOf(definition, name) {
  const pending = [definition];
  while (pending.length) {
    const scope = pending.pop();
    if (!scope || typeof scope.States !== 'object') continue;
    for (const [key, state] of Object.entries(scope.States)) {
      if (key === name) return state;
      const inner = /** @type {any} */ (state);
      pending.push(...(Array.isArray(inner.Branches) ? inner.Branches : []), inner.ItemProcessor, inner.Iterator);
    }
  }
  return null;
}
