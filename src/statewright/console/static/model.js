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
 *   timeAt: (event: number) => number, endMs: number, edges: Map<string, number[]>, byName: Map<string, State>,
 *   times: number[], core: Parts, node: string | null}} Run  `core` is another object after each delta, and the same while
 *   only time goes on; `node` is the node of the cluster that had the execution when it was read
 * @typedef {'ok' | 'fail' | 'run' | 'wait' | 'caught' | 'idle'} Tone
 * @typedef {{tone: Tone, begun: number, done: number, running: number, visit: Visit | null}} Look
 */

/**
 * What a run is made of; it grows with every delta. Events, visits and states are added to, never replaced.
 * @typedef {{head: any, drawing: any, definition: any, statuses: string[], types: string[], states: State[], visits: Visit[],
 *   kinds: number[], times: number[], owners: number[], edges: Map<string, number[]>, byName: Map<string, State>, nowMs: number,
 *   node: string | null}} Parts
 */

/** @param {any} document  as the server's read `run` returns it @returns {Run} */
export function makeRun(document) {
  /** @type {State[]} */
  const states = document.states.map((/** @type {any} */ state, /** @type {number} */ index) => ({
    ...state, index, depth: 0, visits: [], ends: [], beginSums: [0], endSums: [0], first: Infinity,
  }));
  for (const state of states) {
    for (let owner = state.owner; owner >= 0; owner = states[owner].owner) state.depth += 1;
  }
  /** @type {Parts} */
  const parts = {
    head: document.head, drawing: document.drawing, definition: document.definition, statuses: document.statuses, types: [], states,
    visits: [], kinds: [], times: [], owners: [], edges: new Map(), byName: new Map(states.map((state) => [state.name, state])), nowMs: 0, node: document.node ?? null,
  };
  add(parts, { ...document, to: document.events.type.length });
  return shaped(parts);
}

/**
 * The run with what came after its last event. The run that was given must not be used any more.
 * @param {Run} run @param {any} delta  a line of the server's stream @returns {Run}
 */
export function merged(run, delta) {
  if (delta.from !== run.length) throw new Error(`The run has ${run.length} events, and the delta begins after ${delta.from}.`);
  add(run.core, delta);
  return shaped({ ...run.core });
}

/** The run at a later instant of the server; one that has ended stays as it is. @param {Run} run @param {number} nowMs @returns {Run} */
export function grown(run, nowMs) {
  if (run.head.endedMs !== null || nowMs <= run.core.nowMs) return run;
  return timed(run, Math.max(run.endMs, nowMs - run.head.startedMs));
}

/** @param {Parts} parts @returns {Run} */
function shaped(parts) {
  const { kinds, times, owners } = parts;
  const { length } = kinds;
  const within = (/** @type {number} */ event) => Math.min(Math.max(event, 1), length) - 1;
  const lastMs = length ? times[length - 1] : 0;
  const run = {
    head: parts.head, drawing: parts.drawing, definition: parts.definition, states: parts.states, visits: parts.visits, length,
    edges: parts.edges, byName: parts.byName, core: parts, times, node: parts.node,
    typeOf: (/** @type {number} */ event) => parts.types[kinds[within(event)]],
    msOf: (/** @type {number} */ event) => (length ? times[within(event)] : 0),
    visitOf: (/** @type {number} */ event) => (length ? owners[within(event)] : -1),
    timeAt: (/** @type {number} */ _event) => 0, endMs: 0,
  };
  // One that runs has lasted until it was read.
  return timed(run, parts.head.endedMs === null ? Math.max(lastMs, parts.nowMs - parts.head.startedMs) : lastMs);
}

/** @param {Run} run @param {number} endMs @returns {Run} */
function timed(run, endMs) {
  return { ...run, endMs, timeAt: (event) => (event >= run.length ? endMs : run.msOf(event)) };
}

/** Adds events, and the visits that they began or changed. @param {Parts} parts @param {any} delta */
function add(parts, delta) {
  const { states, visits } = parts;
  parts.head = delta.head;
  parts.nowMs = Math.max(parts.nowMs, delta.nowMs);
  parts.types = delta.eventTypes;
  for (const kind of delta.events.type) parts.kinds.push(kind);
  for (const ms of summed(delta.events.atMs)) parts.times.push(ms);
  for (const owner of summed(delta.events.visit)) parts.owners.push(owner);
  const v = delta.visits;
  const begin = summed(v.begin);
  const beginMs = summed(v.beginMs);
  const numbers = v.index ? summed(v.index) : null;
  let isReopened = false;
  /** @type {Visit[]} */
  const ended = [];
  /** @type {Visit[]} */
  const left = [];
  for (let place = 0; place < v.state.length; place += 1) {
    const index = numbers ? numbers[place] : place;
    const known = visits[index];
    const end = v.end[place] ? begin[place] + v.end[place] : 0;
    const next = v.next[place];
    if (!known) {
      /** @type {Visit} */
      const visit = { index, state: v.state[place], parent: v.parent[place], strand: v.strand[place], kind: v.kind[place], begin: begin[place], end,
        beginMs: beginMs[place], endMs: 0, status: '', next: -1, attempts: [] };
      visits.push(visit);
      const state = states[visit.state];
      state.visits.push(visit);
      state.beginSums.push(state.beginSums[state.beginSums.length - 1] + visit.beginMs);
      state.first = Math.min(state.first, visit.begin);
    }
    const visit = visits[index];
    if (known && known.end && known.end !== end) isReopened = true;
    else if (end && (!known || !known.end)) ended.push(visit);
    if (end && next >= 0 && visit.next !== next) left.push(visit);
    Object.assign(visit, { end, endMs: v.endMs[place] < 0 ? -1 : beginMs[place] + v.endMs[place], status: parts.statuses[v.status[place]], next });
  }
  addAttempts(visits, delta.attempts);
  if (isReopened) {
    rebuild(parts);
    return;
  }
  noteEnds(states, ended);
  for (const visit of left) noteEdge(parts, visit);
}

/** @param {Visit[]} visits @param {any} a  columns of attempts; they replace those of the same number */
function addAttempts(visits, a) {
  const of = summed(a.visit);
  const begin = summed(a.begin);
  const beginMs = summed(a.beginMs);
  for (let place = 0; place < of.length; place += 1) {
    const { attempts } = visits[of[place]];
    const number = a.number ? a.number[place] : attempts.length + 1;
    attempts.length = number - 1;
    attempts.push({
      number, begin: begin[place], end: a.end[place] || a.failed[place] ? begin[place] + a.end[place] : 0, beginMs: beginMs[place],
      endMs: a.endMs[place] < 0 ? -1 : beginMs[place] + a.endMs[place], failed: a.failed[place] === 1, error: a.error[place] < 0 ? null : a.errors[a.error[place]],
      waitedMs: a.waitedMs[place], length: a.length[place],
    });
  }
}

/** @param {State[]} states @param {Visit[]} ended  visits that ended after all that had ended before */
function noteEnds(states, ended) {
  ended.sort((one, other) => one.end - other.end);
  for (const { state: number, end, endMs } of ended) {
    const state = states[number];
    state.ends.push(end);
    state.endSums.push(state.endSums[state.endSums.length - 1] + endMs);
  }
}

/** @param {Parts} parts @param {Visit} visit  whose next state is known */
function noteEdge({ states, edges }, visit) {
  const key = edgeKey(states[visit.state].name, states[visit.next].name);
  const ends = edges.get(key);
  if (!ends) edges.set(key, [visit.end]);
  else if (ends[ends.length - 1] <= visit.end) ends.push(visit.end);
  else ends.splice(countUpTo(ends, visit.end), 0, visit.end);
}

/** Finds anew what ended when: a redrive has opened visits again. @param {Parts} parts */
function rebuild(parts) {
  parts.edges.clear();
  for (const state of parts.states) Object.assign(state, { ends: [], endSums: [0] });
  const ended = parts.visits.filter((visit) => visit.end);
  noteEnds(parts.states, ended);
  for (const visit of ended) if (visit.next >= 0) noteEdge(parts, visit);
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
