// Lines of logs as a list, and the log of a function: its last lines, a search, following.

import { html, useEffect, useRef, useState } from './vendor.js';
import { call } from './api.js';
import { iso, plural } from './format.js';
import { lookOf, patternOf } from './log_lines.js';
import { Problem } from './parts.js';

const MOST_LINES = 500;
const MOST_PAGES = 20;
const FOLLOW_MS = 2000;
const SPANS = [['900000', '15 min'], ['3600000', '1 h'], ['86400000', '1 d'], ['0', 'all']];

/** @param {{lines: import('./log_lines.js').LogLine[]}} props */
export function LogLines({ lines }) {
  return html`<ol class="loglines" tabindex="0" aria-label="Log lines">${lines.map((line, place) => html`<li key=${`${line.atMs} ${place}`}><time title=${iso(line.atMs)}>${iso(line.atMs).slice(11, 23)}</time><bdi class=${lookOf(line.text)}>${line.text.replaceAll('\r', '\n')}</bdi></li>`)}</ol>`;
}

/**
 * The last lines of a log group since an instant, oldest first.
 * @param {string} group @param {string} pattern @param {number} since @param {AbortSignal} stop
 */
async function lastLines(group, pattern, since, stop) {
  /** @type {import('./log_lines.js').LogLine[]} */
  let lines = [];
  /** @type {string | undefined} */
  let token;
  let pages = 0;
  do {
    const found = await call('logs', 'FilterLogEvents', { logGroupName: group, startTime: since, limit: 1000, ...(pattern ? { filterPattern: pattern } : {}), ...(token ? { nextToken: token } : {}) }, stop);
    lines = [...lines, ...found.events.map((/** @type {any} */ one) => ({ atMs: one.timestamp, text: one.message, stream: one.logStreamName }))].slice(-MOST_LINES);
    token = found.nextToken;
    pages += 1;
  } while (token && pages < MOST_PAGES);
  return { lines, isWhole: !token };
}

/** @param {{group: string}} props */
export function GroupLog({ group }) {
  const [text, setText] = useState('');
  const [wanted, setWanted] = useState('');
  const [span, setSpan] = useState('3600000');
  const [isFollowed, setFollowed] = useState(true);
  const [held, setHeld] = useState(/** @type {any} */ ({ lines: null, isWhole: true, problem: null }));
  const [turn, setTurn] = useState(0);
  const timer = useRef(0);
  useEffect(() => {
    const stop = new AbortController();
    const look = async () => {
      if (!document.hidden) {
        try {
          const since = Number(span) ? Math.max(0, Date.now() - Number(span)) : 0;
          const found = await lastLines(group, patternOf(wanted), since, stop.signal);
          if (!stop.signal.aborted) setHeld({ ...found, problem: null });
        } catch (problem) {
          if (!stop.signal.aborted) setHeld((/** @type {any} */ before) => ({ ...before, problem }));
        }
      }
      if (isFollowed && !stop.signal.aborted) timer.current = setTimeout(look, FOLLOW_MS);
    };
    look();
    return () => {
      clearTimeout(timer.current);
      stop.abort();
    };
  }, [group, wanted, span, isFollowed, turn]);
  const search = (/** @type {Event} */ event) => {
    event.preventDefault();
    setWanted(text);
  };
  const isMissing = held.problem?.code === 'ResourceNotFoundException';
  return html`<form class="filters block" onSubmit=${search}><input type="search" value=${text} placeholder="Part of a line, then Enter" aria-label="Search in the log" onInput=${(/** @type {any} */ event) => {
    setText(event.target.value);
    if (!event.target.value) setWanted('');
  }} />
      <label>Last <select value=${span} onChange=${(/** @type {any} */ event) => setSpan(event.target.value)}>${SPANS.map(([value, words]) => html`<option value=${value} selected=${value === span}>${words}</option>`)}</select></label>
      <label class="checkbox"><input type="checkbox" checked=${isFollowed} onChange=${(/** @type {any} */ event) => setFollowed(event.target.checked)} /> follow</label><code class="space faint">${group}</code></form>
    ${held.problem && !isMissing ? html`<${Problem} problem=${held.problem} again=${() => setTurn((/** @type {number} */ before) => before + 1)} />` : null}
    ${isMissing ? html`<p class="faint pad">The log group does not exist yet: the first invocation makes it.</p>` : !held.lines ? html`<p class="faint pad">Reading…</p>`
    : held.lines.length ? html`<${LogLines} lines=${held.lines} />${held.lines.length === MOST_LINES ? html`<p class="faint pad">The last ${MOST_LINES} lines are shown${held.isWhole ? '' : ', of those that were read'}.</p>` : null}`
    : html`<p class="faint pad">No line ${wanted ? 'matches' : 'was logged'} in this time. <code>statewright function logs NAME</code> shows the same.</p>`}
    <p class="unseen" role="status">${held.lines ? plural(held.lines.length, 'line') : ''}</p>`;
}
