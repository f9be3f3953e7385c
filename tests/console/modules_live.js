// Checks of what live pages are made of, beside the modules: a run that grows by deltas is the run that is read whole.
// The argument is a file of runs: [[document, deltas, whole document], ...]. Silent if all is well.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Beats, watchList } from './beats.js';
import { firstSelection, grown, lookAt, makeRun, merged, rowsOf, takenBy, tookBy } from './model.js';
import { gapsOf, idleStretches } from './scale.js';

/** Everything that a page may show of a run. */
function shown(run) {
  const { head, states, visits, length, times, endMs, edges } = run;
  const at = Array.from({ length }, (_, place) => place + 1);
  return {
    head, states, visits, length, times, endMs, edges: [...edges].sort(), rows: rowsOf(run).map((state) => state.name), first: firstSelection(run)?.index,
    events: at.map((event) => [run.typeOf(event), run.msOf(event), run.visitOf(event)]),
    looks: at.map((event) => states.map((state) => {
      const look = lookAt(state, event);
      return [look.tone, look.begun, look.done, look.visit?.index, tookBy(state, look, run.timeAt(event)), ...states.map((other) => takenBy(run, state.name, other.name, event))];
    })),
  };
}

for (const [document, deltas, whole] of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  let run = makeRun(document);
  for (const delta of deltas) run = merged(run, delta);
  const expected = makeRun(whole);
  // The same, but for when the server was asked.
  assert.deepEqual(shown(grown(run, 0)), shown(expected));
  assert.throws(() => merged(run, { ...deltas[0], from: run.length + 1 }));
}

// A run grows with the clock while it is under way, and its parts stay the same.
const empty = { type: [], atMs: [], visit: [], state: [], parent: [], strand: [], kind: [], begin: [], end: [], beginMs: [], endMs: [], status: [], next: [] };
const none = { errors: [], visit: [], begin: [], end: [], beginMs: [], endMs: [], failed: [], error: [], waitedMs: [], length: [] };
const head = { startedMs: 1000, endedMs: null, status: 'RUNNING' };
const document = { head, drawing: {}, definition: {}, nowMs: 1500, statuses: [], states: [], eventTypes: ['E'], events: { type: [0], atMs: [0], visit: [-1] }, visits: empty, attempts: none };
const young = makeRun(document);
const older = grown(young, 3000);
assert.deepEqual([young.endMs, older.endMs, older.timeAt(1), grown(older, 2000).endMs, young.endMs], [500, 2000, 2000, 2000, 500]);
assert.equal(older.core, young.core);
const over = makeRun({ ...document, head: { ...head, endedMs: 1000 } });
assert.equal(grown(over, 9000), over);

// Gaps: what goes on hides nothing after it.
assert.deepEqual(gapsOf([{ beginMs: 0, endMs: 10 }, { beginMs: 1000, endMs: -1 }]), { longest: [[10, 1000]], openFrom: null });
assert.deepEqual(idleStretches(gapsOf([{ beginMs: 0, endMs: 10 }, { beginMs: 1000, endMs: 1010 }]), 1010), [[10, 1000]]);
assert.deepEqual(idleStretches(gapsOf([{ beginMs: 0, endMs: 10 }]), 5000), [[10, 5000]]);
assert.deepEqual(idleStretches(gapsOf([{ beginMs: 0, endMs: -1 }]), 5000), []);

// Connections.
let steady = 0;
const beats = new Beats(() => steady, () => 7);
assert.equal(beats.serverNow(), 7);
beats.lost();
assert.deepEqual([beats.pause(), beats.opened()], [250, 0], 'a server that never answered was not away');
beats.note(100000);
steady = 60;
assert.equal(beats.serverNow(), 100060);
beats.lost();
const pauses = Array.from({ length: 6 }, () => {
  const pause = beats.pause();
  beats.lost();
  return pause;
});
assert.deepEqual(pauses, [250, 500, 1000, 2000, 4000, 5000]);
steady = 3060;
assert.equal(beats.opened(), 3000);
assert.equal(beats.pause(), 250);
beats.lost();
beats.closed();
steady += 100;
assert.equal(beats.opened(), 0, 'a page that was hidden has closed the stream itself');
assert.equal(beats.isSilent(), false);
steady += 60000;
assert.equal(beats.isSilent(), true);
assert.equal(watchList([['list', null], ['run:a@b', 34]]), 'list,run:a@b@34');
