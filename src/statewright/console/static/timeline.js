// The timeline: one row a state, and an axis that is the scrubber.

import { html, useLayoutEffect, useMemo, useRef, useState } from './vendor.js';
import { duration, offset } from './format.js';
import { toneWords } from './icons.js';
import { countUpTo, lookAt, rowsOf, toneOf, tookBy, waitingTone } from './model.js';
import { gapsOf, idleStretches, lanes, makeScale, ticks } from './scale.js';

const MOST_BARS = 160;
const MOST_LANES = 6;
const PIXELS = 600;
const NEAR_HEAD = 0.045;
const NEAR_FOLD = 0.07;

/** @param {any} props */
export function Timeline({ run, at, aways = [], selected, onAt, onSelect }) {
  const rows = useMemo(() => rowsOf(run), [run.core]);
  const gaps = useMemo(() => gapsOf(workOf(run)), [run.core]);
  const scale = useMemo(() => makeScale(run.endMs, idleStretches(gaps, run.endMs)), [gaps, run.endMs]);
  const track = useRef(/** @type {any} */ (null));
  const head = useRef(/** @type {any} */ (null));
  const [dragging, setDragging] = useState(false);
  const ms = run.timeAt(at);
  const folds = scale.pieces.filter((piece) => piece.folded);
  // Labels that would lie under another one are left out.
  const isFree = (/** @type {number} */ share) => Math.abs(share - scale.at(ms)) > NEAR_HEAD && folds.every((fold) => Math.abs(share - (fold.from + fold.to) / 2) > NEAR_FOLD);
  const seek = (/** @type {any} */ event) => {
    const box = track.current.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    onAt(Math.max(1, share >= 1 ? run.length : countUpTo(run.times, scale.msAt(share))));
  };
  useLayoutEffect(() => {
    if (head.current) head.current.style.left = percent(scale.at(ms));
  }, [scale, ms]);
  const down = (/** @type {any} */ event) => {
    if (event.button) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
    seek(event);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: at - 1, ArrowRight: at + 1, Home: 1, End: run.length, PageUp: at - 100, PageDown: at + 100 });
    if (!(event.key in steps)) return;
    event.preventDefault();
    onAt(Math.min(run.length, Math.max(1, steps[event.key])));
  };
  return html`<div class="timeline grow">
    <div class="axis"><span class="label">State</span>
      <div class="track" ref=${track} role="slider" tabindex="0" aria-label="Moment of the run" aria-valuemin="1" aria-valuemax=${run.length} aria-valuenow=${at}
        aria-valuetext=${`event ${at}, ${offset(ms)}`} onPointerDown=${down} onPointerMove=${(/** @type {any} */ event) => (dragging ? seek(event) : null)} onLostPointerCapture=${() => setDragging(false)} onKeyDown=${key}>
        ${ticks(scale, 8).filter((tick) => isFree(scale.at(tick))).map((tick) => html`<${At} key=${tick} share=${scale.at(tick)} className="tick">${offset(tick)}</${At}>`)}
        ${folds.map((piece) => html`<${At} share=${(piece.from + piece.to) / 2} className="fold" title=${`${duration(piece.toMs - piece.fromMs)} of waiting, folded`}>≈ ${duration(piece.toMs - piece.fromMs)}</${At}>`)}
        <span class="head" ref=${head}>${offset(ms)}</span></div><span class="took">Took</span></div>
    <div class="rows">${rows.map((state) => html`<${Row} key=${state.name} run=${run} state=${state} at=${at} ms=${ms} scale=${scale} isSelected=${state.name === selected} onSelect=${onSelect} />`)}
      <div class="over"><div class="overtrack">${ticks(scale, 8).map((tick) => html`<${At} key=${tick} share=${scale.at(tick)} className="gridline" />`)}${aways.map((/** @type {any} */ one) => html`<${Away} key=${one.toMs} from=${scale.at(one.fromMs - run.head.startedMs)} to=${scale.at(one.toMs - run.head.startedMs)} words=${`The server was away for ${duration(one.toMs - one.fromMs)}`} />`)}
        <${At} share=${scale.at(ms)} className="playhead" /></div></div></div>
  </div>`;
}

/** @param {any} props */
function Row({ run, state, at, ms, scale, isSelected, onSelect }) {
  const bars = useMemo(() => barsOf(run, state), [run.core, state]);
  const look = lookAt(state, at);
  const isContainer = state.type === 'Parallel' || state.type === 'Map';
  // While none of its visits goes on, a row looks the same at every event.
  return useMemo(() => html`<div class=${`row${isSelected ? ' on' : ''}${look.begun ? '' : ' later'}`} onClick=${() => onSelect(state.name)}>
    <button class=${`state d${Math.min(state.depth, 6)}`} aria-pressed=${isSelected}><span class=${`dot ${look.tone}`}></span>${state.name}<span class="unseen">, ${toneWords(look.tone, look.begun > 0)}</span>
      ${state.visits.length > 1 ? html`<span class="faint">×${(look.begun || state.visits.length).toLocaleString('en-GB')}</span>` : null}</button>
    <div class=${`bars l${bars.lanes}${isContainer ? ' thin' : ''}`}>${bars.list.map((bar, place) => html`<${Bar} key=${place} bar=${bar} at=${at} ms=${ms} scale=${scale} kind=${state.type} waits=${waitingTone(state, 'run') === 'wait'} />`)}</div>
    <span class="took">${look.begun ? duration(Math.max(0, tookBy(state, look, ms))) : ''}</span></div>`, [bars, scale, isSelected, onSelect, look.begun, look.done, look.running ? at : 0, look.running ? ms : 0]);
}

/** @param {any} props */
function Bar({ bar, at, ms, scale, kind, waits }) {
  const box = useRef(/** @type {any} */ (null));
  const from = scale.at(bar.beginMs);
  const to = scale.at(bar.endMs < 0 ? scale.endMs : bar.endMs);
  const isLater = bar.begin > at;
  const isOpen = !isLater && (bar.end === 0 || bar.end > at);
  const cut = isOpen && to > from ? Math.min(1, Math.max(0, (scale.at(ms) - from) / (to - from))) : 1;
  useLayoutEffect(() => {
    box.current.style.left = percent(from);
    box.current.style.width = percent(to - from);
    box.current.style.setProperty('--done', percent(cut));
  }, [from, to, cut]);
  const tone = isLater ? 'later' : isOpen ? (waits ? 'wait' : 'run') : kind === 'Wait' && bar.tone === 'ok' ? 'wait' : bar.tone;
  const words = `${bar.words}${duration(Math.max(0, (bar.endMs < 0 ? ms : bar.endMs) - bar.beginMs))}`;
  return html`<span ref=${box} class=${`bar ${bar.gap ? 'gap' : `b-${tone}`} lane${bar.lane}${isOpen ? ' open' : ''}`} title=${words}>${bar.label}</span>`;
}

/** @param {any} props */
function At({ share, className, title, children }) {
  const box = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => {
    box.current.style.left = percent(share);
  }, [share]);
  return html`<span ref=${box} class=${className} title=${title}>${children}</span>`;
}

/** A stretch in which the server did not answer. @param {any} props */
function Away({ from, to, words }) {
  const box = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => {
    box.current.style.left = percent(from);
    box.current.style.width = percent(to - from);
  }, [from, to]);
  return html`<span ref=${box} class="away" role="img" aria-label=${words} title=${words}></span>`;
}

/** The bars of a state: one an attempt of a task, else one a visit; many are joined. @param {any} run @param {any} state */
function barsOf(run, state) {
  /** @type {any[]} */
  let list = [];
  for (const visit of state.visits) {
    const tries = state.type === 'Task' && visit.attempts.length > 1 ? visit.attempts : null;
    if (!tries) {
      list.push({ begin: visit.begin, end: visit.end, beginMs: visit.beginMs, endMs: visit.endMs, tone: toneOf(visit, run.length), label: '', words: visit.kind === 2 ? `item ${visit.strand}: ` : '' });
      continue;
    }
    list.push({ begin: visit.begin, end: visit.end, beginMs: visit.beginMs, endMs: visit.endMs, tone: 'idle', label: '', gap: true, words: '' });
    tries.forEach((/** @type {any} */ one) => list.push({ begin: one.begin, end: one.end, beginMs: one.beginMs, endMs: one.endMs,
      tone: one.failed ? 'fail' : one.end ? 'ok' : 'run', label: String(one.number), words: `attempt ${one.number}${one.error ? `, ${one.error}` : ''}: ` }));
  }
  if (list.length > MOST_BARS) list = list.filter((bar) => !bar.gap);
  for (let share = 1 / PIXELS; list.length > MOST_BARS; share *= 2) list = joined(list, Math.max(1, run.endMs) * share);
  const gaps = list.filter((bar) => bar.gap).map((bar) => ({ ...bar, lane: 0 }));
  const solid = list.filter((bar) => !bar.gap).sort((one, other) => one.beginMs - other.beginMs);
  const placed = lanes(solid.map((bar) => (bar.endMs < 0 ? { ...bar, endMs: Infinity } : bar)), MOST_LANES).map(({ bar, lane }) => ({ bar: bar.endMs === Infinity ? { ...bar, endMs: -1 } : bar, lane })).map(({ bar, lane }) => ({ ...bar, lane }));
  return { list: [...gaps, ...placed], lanes: Math.max(1, ...placed.map((bar) => bar.lane + 1)) };
}

/** Bars that lie so near, or touch, become one, if they look the same or are as short. @param {any[]} list @param {number} nearMs */
function joined(list, nearMs) {
  /** @type {any[]} */
  const found = [];
  for (const bar of [...list].sort((one, other) => one.beginMs - other.beginMs)) {
    const last = found[found.length - 1];
    const isOpen = bar.endMs < 0;
    if (last && (last.endMs < 0 || bar.beginMs - last.endMs < nearMs) && (last.tone === bar.tone || (!isOpen && bar.endMs - bar.beginMs < nearMs))) {
      last.endMs = isOpen || last.endMs < 0 ? -1 : Math.max(last.endMs, bar.endMs);
      last.end = last.end && bar.end ? Math.max(last.end, bar.end) : 0;
      if (bar.tone === 'fail') last.tone = 'fail';
      last.many = (last.many ?? 1) + (bar.many ?? 1);
      last.words = `${last.many.toLocaleString('en-GB')} visits: `;
    } else {
      found.push({ ...bar, label: '' });
    }
  }
  return found;
}

/** What was not waiting, for the folds of the axis. @param {any} run */
function workOf(run) {
  const work = [];
  for (const visit of run.visits) {
    const { type } = run.states[visit.state];
    if (type === 'Wait' || type === 'Parallel' || type === 'Map') continue;
    if (!visit.attempts.length) work.push({ beginMs: visit.beginMs, endMs: visit.endMs });
    for (const one of visit.attempts) work.push({ beginMs: one.beginMs, endMs: one.endMs });
  }
  return work;
}

/** @param {number} share */
function percent(share) {
  return `${(share * 100).toFixed(3)}%`;
}
