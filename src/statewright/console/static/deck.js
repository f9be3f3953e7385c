// Below the graph: the player, and the run as a timeline, a table, events or raw JSON.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { duration, offset } from './format.js';
import { Icon, toneWords } from './icons.js';
import { Later } from './later.js';
import { attemptsAt, lookAt, rowsOf } from './model.js';
import { Tabs } from './parts.js';
import { Timeline } from './timeline.js';

/** @type {[string, string][]} */
const VIEWS = [['timeline', 'Timeline'], ['table', 'Table'], ['events', 'Events'], ['raw', 'Raw']];
const events = () => import('./events.js').then((module) => module.Events);
const SPEEDS = [1, 2, 5, 20];
const LONGEST_PLAY_MS = 8000;

/** @param {any} props */
export function Deck({ run, arn, at, mode, aways, view, selected, onAt, onView, onSelect }) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const shown = VIEWS.some(([key]) => key === view) ? view : 'timeline';
  const now = useRef(at);
  now.current = at;
  useEffect(() => {
    if (!playing) return undefined;
    const pace = Math.max(1, run.endMs / LONGEST_PLAY_MS) * speed;
    let before = performance.now();
    let ms = run.msOf(now.current);
    let played = now.current;
    let frame = requestAnimationFrame(function turn(time) {
      if (now.current !== played) ms = run.msOf(now.current); // The user has gone elsewhere.
      ms += Math.max(0, time - before) * pace;
      before = time;
      let event = now.current;
      while (event < run.length && run.msOf(event + 1) <= ms) event += 1;
      played = event;
      if (event !== now.current) onAt(event);
      now.current = event;
      if (event >= run.length) setPlaying(false);
      else frame = requestAnimationFrame(turn);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed, run.core]);
  const play = () => {
    if (!playing && at >= run.length) {
      now.current = 1;
      onAt(1);
    }
    setPlaying(!playing);
  };
  return html`<section class="deck card" aria-label="Run">
    <header class="player"><${Tabs} items=${VIEWS} chosen=${shown} label="Views of the run" panel="view" look="pill" onChoose=${onView} />
      <button aria-label="Event before" disabled=${at <= 1} onClick=${() => onAt(at - 1)}><${Icon} name="back" /></button>
      <button class="play" id="play" aria-label=${playing ? 'Pause' : 'Play'} onClick=${play}><${Icon} name=${playing ? 'pause' : 'play'} /></button>
      <button aria-label="Event after" disabled=${at >= run.length} onClick=${() => onAt(at + 1)}><${Icon} name="forward" /></button>
      <button class="speed" aria-label=${`Speed: ${speed} times`} onClick=${() => setSpeed(SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length])}>${speed}×</button>
      <span class="where">event <b>${at.toLocaleString('en-GB')}</b> of ${run.length.toLocaleString('en-GB')} <code>${run.length ? run.typeOf(at) : ''}</code></span>
      <${Live} mode=${mode} isAtEnd=${at >= run.length} /></header>
    <div class="view" role="tabpanel" id="view" aria-labelledby=${`view-${shown}`}>${shown === 'timeline' ? html`<${Timeline} run=${run} at=${at} aways=${aways} selected=${selected} onAt=${onAt} onSelect=${onSelect} />` : null}
    ${shown === 'table' ? html`<${Table} run=${run} at=${at} selected=${selected} onSelect=${onSelect} />` : null}
    ${shown === 'events' ? html`<${Later} load=${events} key=${arn} run=${run} arn=${arn} at=${at} onAt=${onAt} />` : null}
    ${shown === 'raw' ? html`<${Raw} run=${run} />` : null}</div>
  </section>`;
}

/** The button that goes back to now, or stays where the run is. @param {any} props */
function Live({ mode, isAtEnd }) {
  const { isFollowing, isRunning, news, follow, pause } = mode;
  if (isFollowing) return isRunning ? html`<button class="toend on" aria-pressed="true" title="Follows the run; press to stay at this moment" onClick=${pause}><span class="dot run"></span> Live</button>` : null;
  if (!isRunning && !news) return isAtEnd ? null : html`<button class="toend" onClick=${follow}><span class="dot ok"></span> To the end</button>`;
  return html`<button class="toend" aria-pressed="false" title="Follow the run (l)" onClick=${follow}><span class="dot run"></span> Live${news ? ` · ${news.toLocaleString('en-GB')} new` : ''}</button>`;
}

/** The same content as the graph, as text. @param {any} props */
function Table({ run, at, selected, onSelect }) {
  const rows = useMemo(() => [...rowsOf(run), ...run.states.filter((/** @type {any} */ state) => !state.visits.length)], [run.core]);
  return html`<div class="scroll grow"><table class="list"><thead><tr><th>State</th><th>Type</th><th>Status</th><th class="end">Visits</th><th class="end">Attempts</th><th class="end">First entered</th><th class="end">Last took</th><th>Next</th></tr></thead>
    <tbody>${rows.map((state) => {
      const look = lookAt(state, at);
      const { visit } = look;
      const took = visit && visit.end && visit.end <= at ? duration(visit.endMs - visit.beginMs) : '';
      return html`<tr key=${state.name} class=${state.name === selected ? 'on' : ''}><td class="name"><button class="link" onClick=${() => onSelect(state.name)}>${state.name}</button></td><td>${state.type}</td>
        <td class=${`c-${look.tone}`}>${toneWords(look.tone, look.begun > 0, state.apart)}</td><td class="end">${look.begun}</td><td class="end">${visit ? attemptsAt(visit, at).length || '' : ''}</td>
        <td class="end">${look.begun ? offset(state.visits[0].beginMs) : ''}</td><td class="end">${took}</td><td>${visit && visit.next >= 0 && visit.end <= at ? run.states[visit.next].name : ''}</td></tr>`;
    })}</tbody></table></div>`;
}

/** @param {any} props */
function Raw({ run }) {
  const text = JSON.stringify(run.head, null, 2);
  return html`<div class="scroll grow"><pre class="raw">${text}</pre></div>`;
}
