// Checks of the pure modules of What if, Compare, Evaluated and Why, which this program imports from beside it. Silent if all is well.

import assert from 'node:assert/strict';
import { definitionSides, pairWords, shownPairs, side, slower, valueWords } from './compare_words.js';
import { attemptWords, isUnchanged, originWords, valueOf } from './evaluated_words.js';
import { mockOf, mockWords, partingRow, prettyDefinition, verdictWords } from './what_if_words.js';
import { endWords, fieldWords, howWords, membersOf, placeWords, pointerOf } from './why_words.js';

// Verdicts: the way that parts goes before what changed earlier.
const changes = [{ kind: 'attempts', state: 'A', event: 3, words: 'fewer' }, { kind: 'path', state: 'A', event: 5, words: 'elsewhere' }];
assert.deepEqual(verdictWords({ verdict: 'changed', reason: null, changes, missing: null }), { tone: 'caught', title: 'It goes another way.', words: 'elsewhere' });
assert.equal(verdictWords({ verdict: 'unjudged', reason: 'It is still running.', changes: [], missing: null }).words, 'It is still running.');
assert.equal(verdictWords({ verdict: 'same', reason: null, changes: [], missing: null }).tone, 'ok');

// Where the ways part: what a replay that stopped has not reached is not known.
const pairs = [{ state: 'A', recorded: 'succeeded', replayed: 'succeeded', event: 2 }, { state: 'B', recorded: 'succeeded', replayed: null, event: null }];
assert.equal(partingRow(pairs, false), 1);
assert.equal(partingRow(pairs, true), -1);

// Mocks.
const missing = { state: 'A', iteration: [2], visit: 0, number: 1, where: 'A (item 2, attempt 2)', resource: 'r', arguments: '{}', why: '', isMapRun: false };
const typed = { fails: false, result: '{"a": 1}', error: '', cause: '', every: false };
assert.deepEqual(mockOf(missing, typed).mock, { state: 'A', iteration: [2], visit: 0, number: 1, where: missing.where, result: { a: 1 } });
assert.deepEqual(Object.keys(mockOf(missing, { ...typed, every: true }).mock ?? {}), ['state', 'where', 'result']);
assert.match(mockOf(missing, { ...typed, result: '{' }).problem, /not JSON/);
assert.match(mockOf(missing, { ...typed, fails: true, error: ' ' }).problem, /needs a name/);
assert.equal(mockWords(/** @type {any} */ (mockOf(missing, { ...typed, fails: true, error: 'Busy' }).mock)), 'fails with Busy');

// A number that JavaScript cannot hold leaves a definition as it is.
assert.equal(prettyDefinition('{"a":12345678901234567890}'), '{"a":12345678901234567890}');
assert.equal(prettyDefinition('{"a":1}'), '{\n  "a": 1\n}');

// Pairs of visits.
const visit = { event: 2, end: 4, status: 'succeeded', beginMs: 0, tookMs: 100, attempts: 1 };
const pair = { state: 'A', depth: 0, a: visit, b: { ...visit, status: 'failed', tookMs: 900, attempts: 3 }, differs: 'input' };
assert.equal(pairWords(pair), 'status, attempts, input');
assert.equal(slower(pair), 800);
assert.equal(slower({ ...pair, b: { ...visit, tookMs: 110 } }), 0);
assert.equal(pairWords({ ...pair, b: null }), 'only in A');
assert.deepEqual(shownPairs([{ ...pair, b: visit, differs: null }, pair], true).map((one) => one.number), [1]);
assert.deepEqual(['x', 'y', 'z', 'w'].map((name) => side(name, new Set(['x', 'y']), new Set(['y', 'z']))), ['a', 'both', 'b', 'none']);
assert.equal(valueWords({ member: 'answer', pointer: '$.id', a: '1', b: null, aEvent: 1, bEvent: 1, pair: 0, state: 'A', more: 1 }), 'the answer of A at $.id, and 1 more place');

// The two definitions: versions of one machine by number, others by what the executions ran.
const machineArn = 'arn:aws:states:us-east-1:0:stateMachine:m';
const ran = (/** @type {string} */ name, /** @type {string | null} */ version) => ({ arn: `arn:aws:states:us-east-1:0:execution:m:${name}`, machineArn, versionArn: version && `${machineArn}:${version}` });
assert.deepEqual(definitionSides(ran('x', '1'), ran('y', '2')), { machine: machineArn, query: { tab: 'diff', a: '1', b: '2' } });
assert.deepEqual(definitionSides(ran('x', '1'), ran('y', null))?.query, { tab: 'diff', a: ran('x', null).arn, b: ran('y', null).arn });
assert.equal(definitionSides(ran('x', '1'), { ...ran('y', null), machineArn: `${machineArn}/Each` })?.machine, machineArn);
const express = { ...ran('x', null), arn: 'arn:aws:states:us-east-1:0:express:m:x:1' };
assert.equal(definitionSides(express, ran('y', '1')), null);
assert.equal(definitionSides({ ...express, machineArn: 'arn:m2', versionArn: 'arn:m2:4' }, ran('y', '1'))?.query.a, 'arn:m2:4');

// Steps of a state.
const step = { name: 'output', title: 'Output', from: 'input', field: null, value: '1', recorded: null, isRecorded: true };
assert.deepEqual(originWords(step, []), ['idle', 'recorded']);
assert.deepEqual(originWords({ ...step, isRecorded: false, recorded: '2' }, ['$uuid']), ['wait', 'recomputed, differs by chance or time']);
assert.ok(isUnchanged(step, new Map([['input', { ...step, value: '1' }]])));
assert.ok(!isUnchanged(step, new Map([['input', { ...step, value: '2' }]])));
assert.deepEqual([valueOf('{"a":1}'), valueOf('{"cut…'), valueOf(null)], [{ a: 1 }, '{"cut…', undefined]);
const failed = { number: 1, event: 3, error: 'Busy', failed: true, catchIndex: null, retry: { index: 0, rule: {}, isExhausted: false, backoffSeconds: 2, waitedMs: 2040 } };
assert.equal(attemptWords(failed, (ms) => `${ms} ms`), 'Retry 1: back-off about 2 s, it waited 2040 ms.');
assert.equal(attemptWords({ ...failed, retry: { ...failed.retry, isExhausted: true }, catchIndex: 1 }, String), 'Retry 1 has no attempts left; Catch 2 took it.');
assert.equal(attemptWords({ ...failed, retry: null }, String), 'No Retry and no Catch is for this error.');

// Why: paths of lines as pointers.
assert.deepEqual(['$', '$.a[0].b_1', '$["a b"]["~/"]', '$["\\""].c'].map(pointerOf), ['', '/a/0/b_1', '/a b/~0~1', '/"/c']);
assert.deepEqual(['$.a…', '', 'a', '$.a[', '$[x]'].map(pointerOf), [null, null, null, null, null]);
assert.deepEqual(membersOf({ 'a/b': 1, c: [] }, '/x', 9), [['a/b', '/x/a~1b'], ['c', '/x/c']]);
assert.deepEqual(membersOf([5, 6, 7], '', 2), [['0', '/0'], ['1', '/1']]);
assert.deepEqual([membersOf(null, '', 9), membersOf('cut…', '', 9)], [[], []]);
const spot = { state: 'A', event: 2, where: /** @type {'assigned'} */ ('assigned'), path: '/kept/id' };
assert.deepEqual(placeWords(spot), ['variable $kept', '/id']);
assert.deepEqual(placeWords({ ...spot, path: '/kept' }), ['variable $kept', '']);
assert.deepEqual(placeWords({ ...spot, where: 'input' }), ['input', '/kept/id']);
const link = { ...spot, type: 'Pass', value: '1', how: 'variable', fields: [{ field: 'Catch', expression: null }, { field: 'Assign', expression: '$.x' }] };
assert.deepEqual([howWords(link), fieldWords(link.fields)], ['from a variable', 'Catch, Assign $.x']);
const wayEnd = { kind: 'start', reason: null, event: 1, resource: null, path: '/id', expression: null, reads: [] };
assert.equal(endWords(wayEnd), 'The execution began with it: its input at /id.');
assert.equal(endWords({ ...wayEnd, kind: 'result', resource: 'r', event: 7 }), 'r answered it at /id, event 7.');
assert.equal(endWords({ ...wayEnd, kind: 'unknown', reason: 'So.' }), 'It is not followed further. So.');
