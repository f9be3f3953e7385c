// Checks of the pure modules of figures, charts and runs that a page holds itself. Silent if all is well.

import assert from 'node:assert/strict';
import { roundUp, scaled, seconds, short, stepped } from './chart_model.js';
import { levelOf, looksOf, metricOf, money, percent, widthsOf } from './heat_model.js';
import { answerOf } from './local.js';

// Amounts and shares.
assert.deepEqual([0, 12.3, 1234.5, 0.025, 0.004, 0.00000025, 1e-12].map(money), ['$0', '$12.30', '$1,234.50', '$0.025', '0.4 ct', '0.000025 ct', 'below 0.000001 ct']);
assert.deepEqual([0, 0.0001, 0.032, 0.18, 1].map(percent), ['0 %', 'below 0.1 %', '3.2 %', '18 %', '100 %']);

// Levels: nothing has none, the greatest has the last, and they never fall.
assert.equal(levelOf(0, 10), 0);
assert.equal(levelOf(null, 10), 0);
assert.equal(levelOf(10, 10), 5);
assert.equal(levelOf(0.0001, 10), 1);
const levels = Array.from({ length: 101 }, (_, value) => levelOf(value, 100));
assert.deepEqual(levels, [...levels].sort((one, other) => one - other));
const states = /** @type {any[]} */ ([
  { name: 'constructor', visits: 4, p95: 900, p50: null, failed: 1, caught: 1, totalMs: 900, retries: 0, usd: 0 },
  { name: 'B', visits: 0, p95: null, p50: null, failed: 0, caught: 0, totalMs: 0, retries: 0, usd: 0 },
]);
assert.deepEqual([...looksOf(states, metricOf('failures'))], [['constructor', { level: 5, words: '50 %' }], ['B', { level: 0, words: 'not over yet' }]]);
assert.equal(metricOf('nothing').key, 'p95');
assert.deepEqual(widthsOf([{ source: 'A', target: 'B', count: 2 }]).get('A\nB'), { level: 5, count: 2 });

// Charts.
assert.deepEqual([0, 0.3, 7, 12, 41, 990, 1000].map(roundUp), [1, 0.4, 8, 20, 50, 1000, 1000]);
const box = { left: 0, right: 100, top: 0, bottom: 50 };
const lines = [{ points: [[0, 0], [50, 5]] }];
const scale = scaled(lines, 100, 1000, box);
assert.equal(scale.limit, null);
assert.equal(scaled(lines, 100, 8, box).limit, 8);
assert.equal(stepped(lines[0].points, scale, true), 'M0.0 50.0H50.0V0.0H100.0');
assert.equal(stepped(lines[0].points, scale, false), 'M0.0 50.0L50.0 0.0');
assert.equal(stepped([], scale, true), '');
assert.deepEqual([0, 0.25, 1200, 15000, 2500000].map(short), ['0', '0.25', '1,200', '15k', '2.5M']);
assert.deepEqual([0, 40, 720, 10800, 129600].map(seconds), ['0', '40 s', '12 min', '3 h', '1.5 d']);

// A run inside the page answers as the server would.
const inside = /** @type {any} */ ({
  run: { head: { startedMs: 1000 }, eventTypes: ['ExecutionStarted', 'PassStateEntered'], events: { type: [0, 1], atMs: [0, 5] } },
  previous: [0, 0], costs: { usd: 1 }, leftOut: 0,
  details: [{ input: '{"a":1}', name: 'e', roleArn: 'r' }, { name: 'constructor', input: 'x'.repeat(500), cause: 'not JSON' }],
});
assert.equal(answerOf(inside, 'run', {}), inside.run);
assert.equal(answerOf(inside, 'me', {}), undefined);
assert.deepEqual(answerOf(inside, 'run/payload', { event: 1, member: 'input' }), { text: '{"a":1}', isJson: true, next: null, length: 7 });
assert.equal(answerOf(inside, 'run/payload', { event: 2, member: 'cause' }).isJson, false);
assert.equal(answerOf(inside, 'run/payload', { event: 2, member: 'toString' }).text, null);
assert.equal(answerOf(inside, 'run/payload', { event: 9, member: 'input' }).text, null);
assert.deepEqual(answerOf(inside, 'run/events', { from: 2 }).rows.map((/** @type {any} */ row) => [row.id, row.atMs, row.details.input.length]), [[2, 1005, 400]]);
assert.deepEqual(answerOf(inside, 'run/events', { text: 'NOT json' }).rows.map((/** @type {any} */ row) => row.id), [2]);
