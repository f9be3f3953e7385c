// Below the graph: the player, and the run as a timeline, a table, events or raw JSON.

import { html, useEffect, useRef, useState } from './vendor.js';
import { Events } from './events.js';
import { duration, offset } from './format.js';
import { Icon } from './icons.js';
import { lookAt, rowsOf } from './model.js';
import { Timeline } from './timeline.js';

const VIEWS = [['timeline', 'Timeline'], ['table', 'Table'], ['events', 'Events'], ['raw', 'Raw']];
const SPEEDS = [1, 2, 5, 20];
const LONGEST_PLAY_MS = 8000;

/** @param {any} props */
export function Deck({ run, arn, at, view, selected, onAt, onView, onSelect }) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const now = useRef(at);
  now.current = at;
  useEffect(() => {
    if (!playing) return undefined;
    const pace = Math.max(1, run.endMs / LONGEST_PLAY_MS) * speed;
    let before = performance.now();
    let ms = run.msOf(now.current);
    let frame = requestAnimationFrame(function turn(time) {
      ms += (time - before) * pace;
      before = time;
      let event = now.current;
      while (event < run.length && run.msOf(event + 1) <= ms) event += 1;
      if (event !== now.current) onAt(event);
      if (event >= run.length) setPlaying(false);
      else frame = requestAnimationFrame(turn);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed, run]);
  const play = () => {
    if (!playing && at >= run.length) {
      now.current = 1;
      onAt(1);
    }
    setPlaying(!playing);
  };
  return html`<section class="deck card" aria-label="Run">
    <header class="player"><div class="tabs pill" role="tablist">${VIEWS.map(([key, words]) => html`<button role="tab" aria-selected=${view === key} onClick=${() => onView(key)}>${words}</button>`)}</div>
      <button aria-label="Event before" disabled=${at <= 1} onClick=${() => onAt(at - 1)}><${Icon} name="back" /></button>
      <button class="play" id="play" aria-label=${playing ? 'Pause' : 'Play'} onClick=${play}><${Icon} name=${playing ? 'pause' : 'play'} /></button>
      <button aria-label="Event after" disabled=${at >= run.length} onClick=${() => onAt(at + 1)}><${Icon} name="forward" /></button>
      <button class="speed" title="Speed" onClick=${() => setSpeed(SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length])}>${speed}×</button>
      <span class="where">event <b>${at.toLocaleString('en-GB')}</b> of ${run.length.toLocaleString('en-GB')} <code>${run.length ? run.typeOf(at) : ''}</code></span>
      ${at < run.length ? html`<button class="toend" onClick=${() => onAt(run.length)}><span class="dot ok"></span> To the end</button>` : null}</header>
    ${view === 'timeline' ? html`<${Timeline} run=${run} at=${at} selected=${selected} onAt=${onAt} onSelect=${onSelect} />` : null}
    ${view === 'table' ? html`<${Table} run=${run} at=${at} selected=${selected} onSelect=${onSelect} />` : null}
    ${view === 'events' ? html`<${Events} key=${arn} run=${run} arn=${arn} at=${at} onAt=${onAt} />` : null}
    ${view === 'raw' ? html`<${Raw} run=${run} />` : null}
  </section>`;
}

/** The same content as the graph, as text. @param {any} props */
function Table({ run, at, selected, onSelect }) {
  const rows = [...rowsOf(run), ...run.states.filter((/** @type {any} */ state) => !state.visits.length)];
  /** @type {Record<string, string>} */
  const words = { ok: 'Succeeded', fail: 'Failed', caught: 'Caught', run: 'Running', wait: 'Waiting', idle: 'Not reached' };
  return html`<div class="scroll grow"><table class="list"><thead><tr><th>State</th><th>Type</th><th>Status</th><th class="end">Visits</th><th class="end">Attempts</th><th class="end">First entered</th><th class="end">Last took</th><th>Next</th></tr></thead>
    <tbody>${rows.map((state) => {
      const look = lookAt(state, at);
      const { visit } = look;
      const took = visit && visit.end && visit.end <= at ? duration(visit.endMs - visit.beginMs) : '';
      return html`<tr key=${state.name} class=${state.name === selected ? 'on' : ''}><td class="name"><button class="link" onClick=${() => onSelect(state.name)}>${state.name}</button></td><td>${state.type}</td>
        <td class=${`c-${look.begun ? look.tone : 'idle'}`}>${look.begun ? words[look.tone] : 'Not reached'}</td><td class="end">${look.begun}</td><td class="end">${visit?.attempts.length || ''}</td>
        <td class="end">${look.begun ? offset(state.visits[0].beginMs) : ''}</td><td class="end">${took}</td><td>${visit && visit.next >= 0 && visit.end <= at ? run.states[visit.next].name : ''}</td></tr>`;
    })}</tbody></table></div>`;
}

/** @param {any} props */
function Raw({ run }) {
  const text = JSON.stringify(run.head, null, 2);
  return html`<div class="scroll grow"><pre class="raw">${text}</pre></div>`;
}
