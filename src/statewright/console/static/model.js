// A run in the page: visits and attempts as objects, and what it looked like at any of its events. Pure.

/**
 * @typedef {{number: number, begin: number, end: number, beginMs: number, endMs: number, failed: boolean,
 *   error: string | null, waitedMs: number, length: number}} Attempt
 * @typedef {{index: number, state: number, parent: number, strand: number, kind: number, begin: number, end: number,
 *   beginMs: number, endMs: number, status: string, next: number, attempts: Attempt[]}} Visit
 * @typedef {{index: number, name: string, type: string, owner: number, waits: boolean, apart: boolean, depth: number,
 *   visits: Visit[], ends: number[], beginSums: number[], endSums: number[], first: number}} State
 * @typedef {{head: any, drawing: any, definition: any, states: State[], visits: Visit[], length: number,
 *   typeOf: (event: number) => string, msOf: (event: number) => number, visitOf: (event: number) => number,
 *   timeAt: (event: number) => number, endMs: number, edges: Map<string, number[]>, byName: Map<string, State>}} Run
 * @typedef {'ok' | 'fail' | 'run' | 'wait' | 'caught' | 'idle'} Tone
 * @typedef {{tone: Tone, begun: number, done: number, running: number, visit: Visit | null}} Look
 */

/** @param {any} document  as the server's read `run` returns it @returns {Run} */
export function makeRun(document) {
  const v = { ...document.visits, begin: summed(document.visits.begin), beginMs: summed(document.visits.beginMs) };
  const a = {
    ...document.attempts, visit: summed(document.attempts.visit), begin: summed(document.attempts.begin),
    beginMs: summed(document.attempts.beginMs),
  };
  const events = {
    type: document.events.type, atMs: summed(document.events.atMs), visit: summed(document.events.visit),
  };
  /** @type {Visit[]} */
  const visits = v.state.map((/** @type {number} */ state, /** @type {number} */ index) => ({
    index, state, parent: v.parent[index], strand: v.strand[index], kind: v.kind[index], begin: v.begin[index],
    end: v.end[index] ? v.begin[index] + v.end[index] : 0, beginMs: v.beginMs[index],
    endMs: v.endMs[index] < 0 ? -1 : v.beginMs[index] + v.endMs[index], status: document.statuses[v.status[index]],
    next: v.next[index], attempts: [],
  }));
  for (let place = 0; place < a.visit.length; place += 1) {
    const visit = visits[a.visit[place]];
    visit.attempts.push({
      number: visit.attempts.length + 1, begin: a.begin[place],
      end: a.end[place] || a.failed[place] ? a.begin[place] + a.end[place] : 0, beginMs: a.beginMs[place],
      endMs: a.endMs[place] < 0 ? -1 : a.beginMs[place] + a.endMs[place], failed: a.failed[place] === 1, error: a.error[place] < 0 ? null : a.errors[a.error[place]],
      waitedMs: a.waitedMs[place], length: a.length[place],
    });
  }
  /** @type {State[]} */
  const states = document.states.map((/** @type {any} */ state, /** @type {number} */ index) => ({
    ...state, index, depth: 0, visits: [], ends: [], beginSums: [], endSums: [], first: Infinity,
  }));
  for (const state of states) {
    for (let owner = state.owner; owner >= 0; owner = states[owner].owner) state.depth += 1;
  }
  /** @type {Map<string, number[]>} */
  const edges = new Map();
  for (const visit of visits) {
    const state = states[visit.state];
    state.visits.push(visit);
    if (visit.next >= 0 && visit.end) {
      const key = edgeKey(state.name, states[visit.next].name);
      const ends = edges.get(key);
      if (ends) ends.push(visit.end);
      else edges.set(key, [visit.end]);
    }
  }
  const upwards = (/** @type {number} */ x, /** @type {number} */ y) => x - y;
  for (const state of states) {
    state.visits.sort((one, other) => one.begin - other.begin);
    const ended = state.visits.filter((visit) => visit.end).sort((one, other) => one.end - other.end);
    state.ends = ended.map((visit) => visit.end);
    state.beginSums = [0, ...summed(state.visits.map((visit) => visit.beginMs))];
    state.endSums = [0, ...summed(ended.map((visit) => visit.endMs))];
    if (state.visits.length) state.first = state.visits[0].begin;
  }
  for (const ends of edges.values()) ends.sort(upwards);
  const length = events.type.length;
  const within = (/** @type {number} */ event) => Math.min(Math.max(event, 1), length) - 1;
  const lastMs = length ? events.atMs[length - 1] : 0;
  // One that runs has lasted until it was read.
  const endMs = document.head.endedMs === null ? Math.max(lastMs, document.nowMs - document.head.startedMs) : lastMs;
  return {
    head: document.head, drawing: document.drawing, definition: document.definition, states, visits, length, edges,
    byName: new Map(states.map((state) => [state.name, state])),
    typeOf: (event) => document.eventTypes[events.type[within(event)]],
    msOf: (event) => (length ? events.atMs[within(event)] : 0),
    visitOf: (event) => (length ? events.visit[within(event)] : -1),
    timeAt: (event) => (event >= length ? endMs : events.atMs[within(event)]),
    endMs,
  };
}

/** Numbers from the steps between them. @param {number[]} steps @returns {number[]} */
function summed(steps) {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

/** @param {string} source @param {string} target */
export function edgeKey(source, target) {
  return `${source}\n${target}`;
}

/** How many of a sorted list are at most a value. @param {number[]} sorted @param {number} value */
export function countUpTo(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many visits of a state had begun. @param {State} state @param {number} event */
export function begunBy(state, event) {
  let low = 0;
  let high = state.visits.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (state.visits[middle].begin <= event) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The look of a state when an event had just happened. @param {State} state @param {number} event @returns {Look} */
export function lookAt(state, event) {
  const begun = begunBy(state, event);
  if (!begun) return { tone: 'idle', begun: 0, done: 0, running: 0, visit: null };
  const done = countUpTo(state.ends, event);
  const running = begun - done;
  const visit = state.visits[begun - 1];
  if (running > 0) return { tone: waitingTone(state, 'run'), begun, done, running, visit };
  return { tone: toneOf(visit, event), begun, done, running, visit };
}

/** How long the visits of a state had lasted together. @param {State} state @param {Look} look @param {number} ms  the moment of the look */
export function tookBy(state, look, ms) {
  return state.endSums[look.done] + look.running * ms - state.beginSums[look.begun];
}

/** The visit to show of a state: one that was asked for, if it had begun, else the last that had.
 * @param {State} state @param {Visit | undefined} wanted @param {number} event @returns {Visit | null} */
export function visitAt(state, wanted, event) {
  if (wanted && wanted.state === state.index && wanted.begin <= event) return wanted;
  return state.visits[begunBy(state, event) - 1] ?? null;
}

/** The attempts of a visit that had begun; one that ended later goes on. @param {Visit} visit @param {number} event @returns {Attempt[]} */
export function attemptsAt(visit, event) {
  return visit.attempts.filter((one) => one.begin <= event)
    .map((one) => (one.end > event ? { ...one, end: 0, endMs: -1, failed: false, error: null, waitedMs: -1 } : one));
}

/** A state under way waits, if only time or a token ends it. @param {State} state @param {Tone} tone @returns {Tone} */
export function waitingTone(state, tone) {
  return tone === 'run' && (state.type === 'Wait' || state.waits) ? 'wait' : tone;
}

/** @param {Visit} visit @param {number} event @returns {Tone} */
export function toneOf(visit, event) {
  if (!visit.end || visit.end > event) return 'run';
  /** @type {Record<string, Tone>} */
  const tones = { succeeded: 'ok', caught: 'caught', failed: 'fail', stopped: 'idle', running: 'run' };
  return tones[visit.status];
}

/** How often a transition had been taken. @param {Run} run @param {string} source @param {string} target @param {number} event */
export function takenBy(run, source, target, event) {
  const ends = run.edges.get(edgeKey(source, target));
  return ends ? countUpTo(ends, event) : 0;
}

/** The visit to show first: what failed, else what was caught, else what runs, else the last. @param {Run} run */
export function firstSelection(run) {
  const deepest = (/** @type {string} */ status) => {
    const found = run.visits.filter((visit) => visit.status === status);
    return found.length ? found.reduce((one, other) => (depthOf(run, other) > depthOf(run, one) ? other : one)) : null;
  };
  return deepest('failed') && run.head.status === 'FAILED'
    ? origin(run)
    : deepest('caught') ?? deepest('running') ?? latest(run.visits);
}

/** @param {Visit[]} visits @returns {Visit | null} */
function latest(visits) {
  return visits.length ? visits.reduce((one, other) => (other.begin > one.begin ? other : one)) : null;
}

/** Where the failure of a run began: the caught visit that led into a Fail state, else the innermost that failed.
 * @param {Run} run @returns {Visit | null} */
export function origin(run) {
  const failed = run.visits.filter((visit) => visit.status === 'failed');
  if (!failed.length) return null;
  const last = failed.reduce((one, other) => (depthOf(run, other) > depthOf(run, one) ? other : one));
  if (run.states[last.state].type !== 'Fail') return last;
  const caught = run.visits.filter((visit) => visit.status === 'caught' && visit.end <= last.begin);
  return caught.length ? caught.reduce((one, other) => (other.end > one.end ? other : one)) : last;
}

/** @param {Run} run @param {Visit} visit */
function depthOf(run, visit) {
  return run.states[visit.state].depth;
}

/** States in the order in which they were first entered, those inside a state after it. @param {Run} run @returns {State[]} */
export function rowsOf(run) {
  /** @type {State[]} */
  const rows = [];
  const put = (/** @type {number} */ owner) => {
    const inner = run.states.filter((state) => state.owner === owner && state.visits.length);
    inner.sort((one, other) => one.first - other.first);
    for (const state of inner) {
      rows.push(state);
      put(state.index);
    }
  };
  put(-1);
  return rows;
}
