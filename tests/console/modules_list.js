// Checks of the pure modules of the lists, which this program imports from beside it. Silent if all is well.

import assert from 'node:assert/strict';
import { ago, chooseZone, instant, moment, zone, zoneName } from './format.js';
import { keep, kept } from './kept.js';
import { WINDOW, barWidth, barsOf, countBy, milliseconds, mostOf, placeIn, renewed, sum, tookMs, windowOf } from './list_model.js';
import { arnTarget } from './targets.js';

/** @param {number} number @param {any} [more] */
const row = (number, more = {}) => ({ arn: `a-${number}`, name: `n-${number}`, startedMs: number * 10, stoppedMs: number * 10 + 5, status: 'SUCCEEDED', ...more });
const rows = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: from - to + 1 }, (_, place) => row(from - place));

// The window: never more rows than it has room for, what is in view is drawn, and the heights add up.
for (const count of [0, 1, 59, 60, 61, 500, 110_000]) {
  for (const scrolled of [0, 17, 34, 5_000, 34 * count]) {
    const { first, last, before, after } = windowOf(count, scrolled, 700, 34);
    assert.ok(last - first <= WINDOW && first >= 0 && last <= count);
    assert.equal(before + after + (last - first) * 34, count * 34);
    const top = Math.min(Math.floor(scrolled / 34), Math.max(0, count - 21));
    assert.ok(first <= top && last >= Math.min(count, top + 21), `${count} ${scrolled}`);
  }
}
assert.equal(windowOf(500, 0, 34 * 90, 34).last, 110);

// A list that is read again: new rows come first, what the page no longer has is gone, older rows stay.
const shown = { rows: rows(100, 41), next: 'c41' };
assert.deepEqual(renewed(shown, { executions: rows(102, 53), next: 'c53' }), { rows: rows(102, 41), next: 'c41' });
assert.deepEqual(renewed(shown, { executions: rows(102, 53).filter((one) => one.arn !== 'a-99'), next: 'c53' }).rows.length, 61);
assert.deepEqual(renewed(shown, { executions: rows(190, 141), next: 'c141' }), { rows: rows(190, 141), next: 'c141' });
assert.deepEqual(renewed(shown, { executions: rows(100, 99), next: null }), { rows: rows(100, 99), next: null });
assert.deepEqual(renewed({ rows: [], next: null }, { executions: rows(3, 1), next: 'x' }), { rows: rows(3, 1), next: 'x' });
const changed = renewed(shown, { executions: rows(100, 91).map((one) => ({ ...one, status: 'FAILED' })), next: 'c91' });
assert.deepEqual([changed.rows[0].status, changed.rows[9].status, changed.rows[10].status, changed.next], ['FAILED', 'FAILED', 'SUCCEEDED', 'c41']);

// Bars of lengths of time, and histograms.
assert.deepEqual([0, 1, 50, 100, 1000].map((ms) => barWidth(ms, 100)), [4, 4, 36, 72, 72]);
assert.equal(barWidth(0, 0), 4);
assert.equal(mostOf([...Array(39).fill(5), 1_000_000]), 5);
assert.deepEqual([mostOf([]), tookMs(row(1), 99), tookMs(row(1, { stoppedMs: null }), 99), tookMs(row(20, { stoppedMs: null }), 99)], [0, 5, 89, 0]);
const counted = countBy([row(0), row(5, { status: 'FAILED' }), row(10, { status: 'TIMED_OUT' }), row(10, { status: 'RUNNING' })], 0, 100);
assert.deepEqual([sum(counted.ok), sum(counted.failed), sum(counted.running), counted.ok[0], counted.failed[48], counted.failed[95]], [1, 2, 1, 1, 1, 1]);
assert.deepEqual(barsOf(counted, 48).map((bar) => [bar.step, bar.tone]), [[0, 'ok'], [48, 'fail'], [95, 'run'], [95, 'fail']]);
for (const bar of barsOf({ fromMs: 0, toMs: 1, ok: [1000, 1], failed: [1, 0], running: [500, 0] }, 48)) assert.ok(bar.height >= 2 && bar.y >= 0 && bar.y + bar.height <= 48);

// What persons write, and what refusals say.
assert.deepEqual(['90 s', '500ms', '2 h', '1.5 min', '10', '1d', '', 'soon', '1 year', '-3 s'].map(milliseconds), [90_000, 500, 7_200_000, 90_000, 10_000, 86_400_000, null, null, null, null]);
assert.deepEqual([placeIn('At character 14: a value is missing.'), placeIn('Nothing')], [13, null]);

// ARNs.
const execution = 'arn:aws:states:us-east-1:000000000000:execution:m:e';
assert.equal(arnTarget(execution)?.address, `/console/execution/${execution}`);
assert.match(arnTarget('arn:aws:states:us-east-1:000000000000:stateMachine:m')?.address ?? '', /^\/console\/(machine|executions)/);
for (const text of ['', 'arn', 'arn:aws:sqs:us-east-1:000000000000:q', 'arn:aws:states:r:a:execution', 'arn:aws:states:r:a:execution:', `see ${execution}`, 'arn:aws:states:r:a:toString:x']) assert.equal(arnTarget(text), null, text);

// Zones; without a browser nothing is kept, and nothing fails.
const noon = Date.UTC(2026, 10, 24, 12, 0, 5);
assert.deepEqual([zone.value, zoneName(), instant(noon), moment(noon, noon + 1000), moment(noon, noon + 86_400_000)], ['UTC', 'UTC', '24 Nov, 12:00:05', '12:00:05', '24 Nov, 12:00:05']);
chooseZone('local');
assert.equal(instant(noon), `24 Nov, ${new Date(noon).toTimeString().slice(0, 8)}`);
assert.notEqual(zoneName(), '');
chooseZone('UTC');
keep('x', '1');
assert.ok(kept('x') === null || kept('x') === '1');
assert.deepEqual([0, 999, 11 * 60_000 + 29_000, 3 * 86_400_000].map((ms) => ago(noon, noon + ms)), ['0 s ago', '0 s ago', '11 min 29 s ago', '3 d ago']);
assert.equal(ago(noon, noon - 5000), '0 s ago');
