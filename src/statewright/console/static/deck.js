// Below the graph: the player, and the run as a timeline, a table, events or raw JSON.

import { html, useEffect, useRef, useState } from './vendor.js';
import { Icon } from './icons.js';
import { Later } from './later.js';
import { Tabs } from './parts.js';
import { Timeline } from './timeline.js';

/** @type {[string, string][]} */
const VIEWS = [['timeline', 'Timeline'], ['table', 'Table'], ['events', 'Events'], ['raw', 'Raw']];
const events = () => import('./events.js').then((module) => module.Events);
const table = () => import('./run_table.js').then((module) => module.Table);
const raw = () => import('./run_table.js').then((module) => module.Raw);
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
    ${shown === 'table' ? html`<${Later} load=${table} run=${run} at=${at} selected=${selected} onSelect=${onSelect} />` : null}
    ${shown === 'events' ? html`<${Later} load=${events} key=${arn} run=${run} arn=${arn} at=${at} onAt=${onAt} />` : null}
    ${shown === 'raw' ? html`<${Later} load=${raw} run=${run} />` : null}</div>
  </section>`;
}

/** The button that goes back to now, or stays where the run is. @param {any} props */
function Live({ mode, isAtEnd }) {
  const { isFollowing, isRunning, news, follow, pause } = mode;
  if (isFollowing) return isRunning ? html`<button class="toend on" aria-pressed="true" title="Follows the run; press to stay at this moment" onClick=${pause}><span class="dot run"></span> Live</button>` : null;
  if (!isRunning && !news) return isAtEnd ? null : html`<button class="toend" onClick=${follow}><span class="dot ok"></span> To the end</button>`;
  return html`<button class="toend" aria-pressed="false" title="Follow the run (l)" onClick=${follow}><span class="dot run"></span> Live${news ? ` · ${news.toLocaleString('en-GB')} new` : ''}</button>`;
}
