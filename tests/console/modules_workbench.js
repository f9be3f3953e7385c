// Checks of the pure modules of the Workbench and of machines, which this program imports from beside it. Silent if all is well.

import assert from 'node:assert/strict';
import { lookOf, summary } from './definition_diff.js';
import { offsetOf } from './editor.js';
import { everyPeriod, heldFor, pointsOf, queriesOf } from './machine_metrics.js';
import { limitWords, settingsOf } from './machine_settings.js';
import { routesOf, routesTo } from './machine_versions.js';
import { qualifierOf } from './route.js';
import { heldPayloads } from './workbench_run.js';
import { EXAMPLES, firstMocks, indented, languageOf } from './workbench_text.js';
import { requestOf } from './workbench_try.js';

// JSON is indented without being read: numbers and texts stay as they are.
assert.equal(indented('{"a":[1,{"b":{}}],"c":12345678901234567890,"d":"x,{\\"}"}'),
  '{\n  "a": [\n    1,\n    {\n      "b": {}\n    }\n  ],\n  "c": 12345678901234567890,\n  "d": "x,{\\"}"\n}\n');
assert.equal(indented(indented('[1.0, [], "a b"]') ?? ''), '[\n  1.0,\n  [],\n  "a b"\n]\n');
for (const [, { text }] of Object.entries(EXAMPLES)) {
  if (languageOf(text) === 'json') assert.deepEqual(JSON.parse(indented(text) ?? ''), JSON.parse(text));
}
assert.equal(indented('{"a": "unclosed}'), null);
assert.equal(indented('a b'), null);
assert.deepEqual(['{', ' [1]', '', 'StartAt: A'].map(languageOf), ['json', 'json', 'json', 'yaml']);

// Places in a text, counted from 1; beyond its end is its end.
assert.deepEqual([[1, 1], [2, 2], [2, 99], [9, 1]].map(([line, column]) => offsetOf('ab\ncde\nf', line, column)), [0, 4, 6, 7]);

// First mocks.
assert.equal(firstMocks([{ name: 'A "b"', resource: 'arn:aws:states:::lambda:invoke' }, { name: 'resource:x', resource: 'arn:aws:states:::sqs:sendMessage' }]),
  'mocks:\n  "A \\"b\\"": {returns_payload: {}}\n  "state:resource:x": {returns: {}}\n');
assert.equal(firstMocks([]), '');

// A trial of one state.
const form = { input: ' ', variables: '', kind: 'throws', result: '{}', error: 'Busy', cause: 'x', strict: true };
assert.deepEqual(requestOf(form, { definition: '{}', state: 'A', isCalled: true }),
  { definition: '{}', stateName: 'A', input: '{}', inspectionLevel: 'DEBUG', mock: { errorOutput: { error: 'Busy', cause: 'x' }, fieldValidationMode: 'NONE' } });
assert.equal(requestOf({ ...form, kind: 'returns' }, { definition: '{}', state: 'A', isCalled: true }).mock.fieldValidationMode, 'STRICT');
assert.equal(requestOf(form, { definition: '{}', state: 'A', isCalled: false }).mock, undefined);

// Payloads that came with a run.
const payloads = heldPayloads([[1, { input: '{"a":1}', cause: '{"b":2}' }]]);
assert.deepEqual((await payloads.read(1, 'input'))?.value, { a: 1 });
assert.equal((await payloads.read(1, 'cause'))?.value, '{"b":2}');
assert.equal(await payloads.read(1, 'output'), null);
assert.match(String((await payloads.read(9, 'input'))?.value), /not shown/);

// Differences: names that every object knows are only names.
const found = { same: false, added: { B: 'Pass' }, removed: {}, changed: { A: ['Next', 'End'] }, fields: ['Comment'], lines: [], more: 0, before: {}, after: {} };
assert.deepEqual(lookOf(found, 'after')('B'), ['d-added', 'added']);
assert.deepEqual(lookOf(found, 'before')('A'), ['d-changed', 'changed: Next, End']);
assert.equal(lookOf(found, 'after')('constructor')?.[0], 'd-same');
assert.deepEqual(summary(found).map(([, words]) => words), ['+ 1 state added', '~ 1 state changed', "~ the machine's Comment"]);

// Versions and aliases.
const arn = 'arn:aws:states:us-east-1:000000000000:stateMachine:m';
assert.deepEqual([arn, `${arn}:7`, `${arn}:live`].map(qualifierOf), ['', '7', 'live']);
const alias = { name: 'live', stateMachineAliasArn: `${arn}:live`, routingConfiguration: [{ stateMachineVersionArn: `${arn}:1`, weight: 90 }, { stateMachineVersionArn: `${arn}:2`, weight: 10 }] };
assert.deepEqual(routesTo([alias], `${arn}:2`), [{ name: 'live', arn: `${arn}:live`, weight: 10 }]);
assert.deepEqual(routesOf({ first: 'a', second: 'b', weight: '30' }), [{ stateMachineVersionArn: 'a', weight: 70 }, { stateMachineVersionArn: 'b', weight: 30 }]);
for (const odd of [{ second: '', weight: 30 }, { second: 'a', weight: 30 }, { second: 'b', weight: '' }, { second: 'b', weight: -3 }]) {
  assert.deepEqual(routesOf({ first: 'a', ...odd }), [{ stateMachineVersionArn: 'a', weight: 100 }]);
}

// Settings, limits, metrics.
assert.equal(settingsOf({ loggingConfiguration: { level: 'ERROR', includeExecutionData: true } })[1][1], 'ERROR, with data');
assert.equal(limitWords({ stateMachines: [{ stateMachineArn: arn, maxConcurrentExecutions: 3, running: 1, queued: 2 }] }, arn), '3 at once (1 running, 2 queued)');
assert.equal(limitWords({}, arn), 'none');
assert.equal(new Set(queriesOf(arn).map((one) => one.Id)).size, queriesOf(arn).length);
assert.deepEqual(pointsOf({ MetricDataResults: [{ Id: 'a', Timestamps: [600000, 300000], Values: [2, 1] }] }, 'a'), [[300000, 1], [600000, 2]]);
assert.deepEqual(everyPeriod([[300000, 5]], 0, 900000), [[0, 0], [300000, 5], [600000, 0]]);
assert.deepEqual(heldFor([[0, 1]]), [[0, 1], [300000, 1]]);
