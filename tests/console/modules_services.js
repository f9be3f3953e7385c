// Checks of the pure modules behind the pages of services. Silent if all is well.

import assert from 'node:assert/strict';
import { areaPath, filled, linePath, nearest, niceMax, parts, share, thinned, valueTicks } from './chart_scale.js';
import { wholeNumber } from './inputs.js';
import { cornerOf, gridOf, orderOf, placeAt, statusAt } from './item_strip.js';
import { fromBase64, lookOf, patternOf, reportOf, toBase64 } from './log_lines.js';
import { firstOf, meanings, opened, policies, readAttributes } from './queue_words.js';
import { toleranceOf } from './tolerance.js';

// Axes end at round values, and never below their data.
assert.deepEqual([0, 1, 1.2, 3, 7, 10, 23, 99, 101, NaN].map(niceMax), [1, 1, 2, 5, 10, 10, 25, 100, 200, 1]);
assert.deepEqual(valueTicks(20), [20, 15, 10, 5, 0]);
assert.deepEqual(valueTicks(1), [1, 0]);
for (let value = 1; value < 5000; value += 37) {
  assert.ok(niceMax(value) >= value);
  assert.equal(valueTicks(niceMax(value)).at(-1), 0);
}
assert.deepEqual([share(5, 10), share(-1, 10), share(20, 10), share(1, 0), share(NaN, 1)], [0.5, 0, 1, 0, 0]);

// A peak is never thinned away.
const many = Array.from({ length: 10000 }, (_, place) => /** @type {[number, number]} */ ([place, place === 7777 ? 50 : 1]));
assert.equal(thinned(many, 100).length, 100);
assert.ok(thinned(many, 100).some(([, value]) => value === 50));
assert.equal(thinned(many, 20000), many);

assert.equal(linePath([[0, 0], [10, 5]], 0, 10, 10), 'M0 100L1000 50');
assert.equal(linePath([[0, 0], [10, 5]], 0, 10, 10, true), 'M0 100H1000V50');
assert.equal(areaPath([], 0, 1, 1), '');
assert.ok(areaPath([[0, 1], [1, 1]], 0, 1, 1).endsWith('L1000 100L0 100Z'));
assert.deepEqual(filled([[60, 3]], 0, 180, 60), [[0, 0], [60, 3], [120, 0]]);
assert.deepEqual([nearest([], 5), nearest([[0, 1], [10, 1]], 4), nearest([[0, 1], [10, 1]], 6), nearest([[0, 1], [10, 1]], 99)], [-1, 0, 1, 1]);
assert.deepEqual(parts([0, 0]), [0, 0]);
const shares = parts([100000, 1, 0]);
assert.ok(shares[1] > 0.003 && shares[2] === 0);
assert.ok(Math.abs(shares[0] + shares[1] - 1) < 1e-9);

// Cells: those that failed first, each once, and each found again under its own middle.
const strip = '2312045622';
assert.deepEqual([...orderOf(strip, true, 2)], [1, 5, 6, 7, 2, 0, 3, 8, 9, 4, 10, 11]);
assert.deepEqual([...orderOf(strip, false, 1)], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
assert.deepEqual([statusAt(strip, 1), statusAt(strip, 99), statusAt('x', 0)], [3, 0, 0]);
for (const [cells, width] of [[1, 300], [40, 500], [10000, 1170], [10000, 520], [200000, 1170]]) {
  const grid = gridOf(cells, width);
  assert.ok(grid.columns * (grid.size + grid.gap) - grid.gap <= Math.max(40, width));
  for (const place of [0, Math.floor(cells / 2), cells - 1]) {
    const [x, y] = cornerOf(grid, place);
    assert.equal(placeAt(grid, cells, x + grid.size / 2, y + grid.size / 2), place);
  }
  assert.equal(placeAt(grid, cells, -1, 0), -1);
  assert.equal(placeAt(grid, cells, 0, grid.height + 50), -1);
}

// Tolerance.
const run = (/** @type {number} */ failed, /** @type {any} */ more) => ({ itemCounts: { failed, timedOut: 0, total: 200 }, ...more });
assert.deepEqual(toleranceOf(run(0, {}), false), { most: 0, failed: 0, isExceeded: false, words: 'No failure is tolerated: the first one fails the run.' });
assert.ok(toleranceOf(run(1, {}), false).isExceeded);
assert.equal(toleranceOf(run(3, { toleratedFailurePercentage: 5 }), true).words, 'Tolerates 5 % of all items; 3 of 10 used.');
assert.equal(toleranceOf(run(3, { toleratedFailureCount: 2, toleratedFailurePercentage: 5 }), true).words, 'Tolerates 2 failures or 5 % of all items; 3 have failed, which is more.');
assert.equal(toleranceOf(run(199, { toleratedFailurePercentage: 100 }), true).most, null);

// Logs.
const report = reportOf('START RequestId: a\nREPORT RequestId: a\tDuration: 57.01 ms\tBilled Duration: 58 ms\tMemory Size: 128 MB\tMax Memory Used: 12 MB\tInit Duration: 340.07 ms\t\n');
assert.deepEqual(report, { requestId: 'a', durationMs: 57.01, billedMs: 58, usedMb: 12, initMs: 340.07 });
assert.equal(reportOf('nothing').durationMs, null);
assert.deepEqual(['START RequestId: a', '[ERROR] ValueError: x', 'Traceback (most recent call last):', 'all is well', 'an error was expected', 'KeyError: 1'].map(lookOf), ['faint', 'bad', 'bad', '', '', 'bad']);
assert.deepEqual([patternOf('  '), patternOf('a "b" c')], ['', '"a b c"']);
for (const text of ['', '{"a":1}', 'ü → 🎉', '\u202e']) assert.equal(fromBase64(toBase64(text)), text);

// Queues.
assert.deepEqual(meanings({ VisibilityTimeout: '30', Policy: '{}', constructor: 'x' }), [['Visibility timeout', '30 s: a received message is hidden so long'], ['constructor', 'x']]);
assert.deepEqual(policies({ RedrivePolicy: '{"maxReceiveCount":3}', Policy: 'broken' }), [{ name: 'RedrivePolicy', value: { maxReceiveCount: 3 } }, { name: 'Policy', value: 'broken' }]);
assert.deepEqual(opened('{"Message":"{\\"a\\":[1]}","n":"5"}'), { value: { Message: { a: [1] }, n: '5' }, isJson: true });
assert.deepEqual(opened('12'), { value: '12', isJson: false });
assert.equal(firstOf(`a\n  b${'c'.repeat(500)}`).length, 161);
assert.deepEqual(readAttributes('kind=order\n\nn Number=5\ne=a=b'), { kind: { DataType: 'String', StringValue: 'order' }, n: { DataType: 'Number', StringValue: '5' }, e: { DataType: 'String', StringValue: 'a=b' } });
assert.throws(() => readAttributes('nothing'), /NAME=VALUE/);

// Numbers that are typed: what is none is refused, and not taken for no limit.
assert.equal(wholeNumber(' 12 ', 'The rate'), 12);
for (const wrong of ['', 'many', '1.5', '-1', '1e9']) assert.throws(() => wholeNumber(wrong, 'The rate'), /The rate must be a whole number/);
