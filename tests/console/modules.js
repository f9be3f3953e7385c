// Checks of the page's pure modules, which this program imports from beside it. Silent if all is well.

import assert from 'node:assert/strict';
import { diffLines, jsonLines, parsed } from './diff.js';
import { count, duration, plain } from './format.js';
import { attemptsAt, lookAt, makeRun, tookBy, visitAt } from './model.js';
import { format, parse } from './route.js';
import { sentence } from './words.js';

// Counts and durations.
assert.deepEqual([999, 1204, 20000, 100000, 110000, 2400000].map(count), ['999', '1,204', '20k', '100k', '110k', '2.4M']);
assert.deepEqual([0, 1360, 20000, 14040, 185000].map(duration), ['0 ms', '1.36 s', '20 s', '14 s', '3 min 5 s']);
assert.equal(plain('a\u202eb\u0007c'), 'a\ufffdb\ufffdc');

// Differences: names that every object knows are only names.
const lines = diffLines({}, { constructor: 1, 'a b': [] }, 10).lines.map((line) => `${line.mark}${line.name ?? ''}${line.text} ${line.path}`);
assert.deepEqual(lines, ['{ $', '+"constructor"1, $.constructor', '+"a b"[] $["a b"]', '} $']);
const long = jsonLines({ ['k'.repeat(100000)]: Array.from({ length: 50 }, (_, place) => place) }, 100).lines;
assert.ok(JSON.stringify(long).length < 60000);

// Numbers that JavaScript cannot keep are not rounded; this Node.js may not know how to keep them.
assert.deepEqual(parsed('{"a":123456789012345,"b":"12345678901234567890"}'), { a: 123456789012345, b: '12345678901234567890' });
assert.equal(parsed('{"a":'), '{"a":');
const exact = parsed('{"a":12345678901234567890,"b":1}');
const shown = typeof exact === 'string' ? exact : jsonLines(exact, 9).lines.map((line) => `${line.name ?? ''}${line.text}`).join('');
assert.ok(shown.includes('12345678901234567890'), shown);

// Addresses.
const arn = 'arn:aws:states:us-east-1:000000000000:execution:m:ü %/?#';
const address = new URL(format('execution', arn, { at: 3, tab: null }), 'http://localhost');
assert.deepEqual(parse(address.pathname, address.search), { page: 'execution', id: arn, query: { at: '3' } });

// Three visits of one state, of which two overlap; the second is stopped with the execution.
const run = makeRun({
  head: { startedMs: 0, endedMs: 100, status: 'ABORTED' }, drawing: {}, definition: {}, nowMs: 100, statuses: ['running', 'succeeded', 'stopped'],
  states: [{ name: 'A', type: 'Task', owner: -1, waits: false, apart: false }], eventTypes: ['E'],
  events: { type: [0, 0, 0, 0, 0, 0, 0], atMs: [0, 0, 10, 10, 20, 20, 40], visit: [0, 0, 0, 0, 0, 0, 0] },
  visits: { state: [0, 0, 0], parent: [-1, -1, -1], strand: [0, 1, 2], kind: [2, 2, 2], begin: [2, 1, 2], end: [2, 4, 1], beginMs: [0, 10, 10], endMs: [10, 30, 0], status: [1, 2, 1], next: [-1, -1, -1] },
  attempts: { errors: [], visit: [], begin: [], end: [], beginMs: [], endMs: [], failed: [], error: [], waitedMs: [], length: [] },
});
const [state] = run.states;
const slowly = (/** @type {number} */ at) => state.visits.filter((visit) => visit.begin <= at)
  .reduce((total, visit) => total + (visit.end && visit.end <= at ? visit.endMs : run.timeAt(at)) - visit.beginMs, 0);
for (let at = 1; at <= run.length; at += 1) assert.equal(tookBy(state, lookAt(state, at), run.timeAt(at)), slowly(at), `event ${at}`);
assert.equal(visitAt(state, run.visits[1], 7), run.visits[1]);
assert.equal(visitAt(state, run.visits[2], 2), run.visits[0]);
assert.equal(visitAt(state, undefined, 1), null);
assert.equal(sentence(run, run.visits[1], 7), 'Stopped, because the execution was aborted.');

// An attempt that fails later goes on.
const tried = { ...run.visits[0], attempts: [
  { number: 1, begin: 2, end: 4, beginMs: 0, endMs: 5, failed: true, error: 'Busy', waitedMs: 1000, length: -1 },
  { number: 2, begin: 6, end: 7, beginMs: 1005, endMs: 1006, failed: false, error: null, waitedMs: -1, length: -1 },
] };
assert.deepEqual([1, 3, 4, 6].map((at) => attemptsAt(tried, at).map((one) => one.failed)), [[], [false], [true], [true, false]]);
