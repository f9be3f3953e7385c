// The stream of this tab: one for all that its pages watch. It connects anew by itself, from the events that they have.

import { signal, useEffect, useRef } from './vendor.js';
import { readLines, signedOut } from './api.js';
import { Beats, watchList } from './beats.js';

/**
 * The state of the stream. `away` is set once the server answers again after it did not: for how long, in milliseconds,
 * and whether another server process answers.
 * @typedef {{isOpen: boolean, away: {fromMs: number, toMs: number, isRestart: boolean} | null}} Connection
 * @type {{value: Connection}}
 */
export const connection = signal({ isOpen: false, away: null });

/**
 * What is watched: `at` gives the last event that a page has of a run. The same subject may have several listeners.
 * @typedef {{at?: () => number, listeners: Set<(line: any) => void>}} Watched
 * @type {Map<string, Watched>}
 */
const watched = new Map();
/** Runs of which the stream knows nothing: those of files, and Express executions that were recorded. */
const STILL = /^run:(import:|arn:[^:]*:states:[^:]*:[^:]*:express:)/;
const beats = new Beats(() => performance.now(), () => Date.now());
/** @type {AbortController | null} */
let current = null;
let isPlanned = false;
let retry = 0;
let server = '';

/** The instant on the server's clock, as far as is known. */
export function serverNow() {
  return beats.serverNow();
}

/** Takes the server's instant from an answer. @param {number} nowMs */
export function noteServerTime(nowMs) {
  beats.note(nowMs);
}

/**
 * Watches a subject: `list`, `machines`, `project`, or `run:` and an ARN.
 * @param {string} subject @param {(line: any) => void} listener  called with each line about it, and, except for runs,
 *   with `{again: true}` when the stream begins, since a change before that was missed
 * @param {() => number} [at]  the last event that the page has, of a run
 * @returns {() => void} watches no longer
 */
export function watch(subject, listener, at) {
  if (STILL.test(subject)) return () => {};
  const known = watched.get(subject);
  if (known) {
    known.listeners.add(listener);
  } else {
    watched.set(subject, { at, listeners: new Set([listener]) });
    plan();
  }
  return () => {
    const one = watched.get(subject);
    if (!one || !one.listeners.delete(listener) || one.listeners.size) return;
    watched.delete(subject);
    plan();
  };
}

/** Begins a run's stream anew, from the event that its page has. */
export function rewatch() {
  plan();
}

/**
 * Calls back when a subject has changed.
 * @param {string | null} subject  null watches nothing @param {(line: any) => void} onChange
 */
export function useLive(subject, onChange) {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (subject === null) return undefined;
    return watch(subject, (line) => latest.current(line));
  }, [subject]);
}

/** Connects anew, after the page has said all that it watches. */
function plan() {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    connect();
  });
}

function connect() {
  clearTimeout(retry);
  current?.abort();
  current = null;
  if (!watched.size || document.hidden) {
    if (connection.value.isOpen) connection.value = { ...connection.value, isOpen: false };
    return;
  }
  current = new AbortController();
  listen(current);
}

/** @param {AbortController} mine */
async function listen(mine) {
  const names = [...watched].map(([name, { at }]) => [name, at?.() ?? null]);
  try {
    await readLines('live', { watch: watchList(/** @type {[string, number | null][]} */ (names)) }, (line) => take(line), mine.signal);
  } catch (problem) {
    if (mine.signal.aborted) return;
    if (/** @type {any} */ (problem).status === 403 || /** @type {any} */ (problem).status === 400) console.warn('The stream was refused:', problem);
  }
  if (current !== mine) return;
  beats.lost();
  if (connection.value.isOpen) connection.value = { ...connection.value, isOpen: false };
  retry = setTimeout(connect, beats.pause());
}

/** @param {any} line */
function take(line) {
  beats.heard();
  if (line.hello) {
    const isRestart = server !== '' && server !== line.hello.server;
    server = line.hello.server;
    beats.note(line.hello.nowMs);
    const awayMs = beats.opened();
    const nowMs = beats.serverNow();
    connection.value = { isOpen: true, away: awayMs > 0 ? { fromMs: nowMs - awayMs, toMs: nowMs, isRestart } : connection.value.away };
    // Only of runs does the stream tell what changed before it began.
    for (const [name, one] of watched) if (!one.at) call(one, { subject: name, again: true });
    return;
  }
  if (line.beat) {
    beats.note(line.beat);
    return;
  }
  const one = watched.get(line.subject);
  if (one) call(one, line);
}

/** @param {Watched} one @param {any} line */
function call(one, line) {
  for (const listener of [...one.listeners]) listener(line);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) beats.closed();
  connect();
});
addEventListener('online', connect);
setInterval(() => {
  if (current && signedOut.value === null && beats.isSilent()) connect();
}, 5000);
