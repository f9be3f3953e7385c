// The pure modules behind the forms that act on executions: JSON texts, names, links, and where forks begin.

import assert from 'node:assert/strict';
import { executionArn, keyOf, machineOf, nameProblem, timeLeft, uniqueName } from './acting.js';
import { forkPoint } from './fork_point.js';
import { kindOf, mistakeOf, tidy } from './json_text.js';

// Texts with a mistake are those that JSON refuses, and its place is the first one.
const right = ['1', '-0.5e+10', '"x"', 'null', ' [ ] ', '{}', '{"a":{"b":[1,[],{}]},"c":"\\u00e9\\n\\\\"}', '12345678901234567890123', '[1 , 2]\n', '"{[,:"', '{"a":1,"a":2}', '"\u2028"'];
const wrong = {
  '': [1, 1], ' ': [1, 2], '{': [1, 2], '[': [1, 2], '{"a"': [1, 5], '{"a":': [1, 6], '[1,]': [1, 4], '{"a":1,}': [1, 8], "{'a':1}": [1, 2], '{a:1}': [1, 2], '[01]': [1, 2], '[1.]': [1, 2], '[.5]': [1, 2],
  '[+1]': [1, 2], 'tru': [1, 1], 'None': [1, 1], '"ab\ncd"': [1, 4], '"\t"': [1, 2], '"\\q"': [1, 2], '"\\u12g4"': [1, 2], '{"a":1}}': [1, 8], '1 2': [1, 3], '[1 2]': [1, 4], '{\n  "a": 1\n  "b": 2\n}': [3, 3], '{"a" 1}': [1, 6], '\ufeff1': [1, 1], '\u00a01': [1, 1], 'NaN': [1, 1],
};
for (const text of right) assert.equal(mistakeOf(text), null, text);
for (const [text, place] of Object.entries(wrong)) {
  assert.throws(() => JSON.parse(text), undefined, text);
  const found = mistakeOf(text);
  assert.deepEqual([found?.line, found?.column], place, text);
  assert.match(found?.message ?? '', /^[A-Z].*\.$/, text);
}
assert.equal(mistakeOf('['.repeat(100_000))?.message, 'This is nested too deeply.');

// Any text with one character changed is judged as JSON judges it.
const whole = '{"a": [1, -2.5e3, true, null], "b": {"c": "x\\ty\\u0041"}, "d": []}';
for (let at = 0; at < whole.length; at += 1) {
  for (const other of ['', '"', '{', '}', '[', ']', ',', ':', '0', '\\', ' ', 'e', '-', '.', '\n']) {
    const text = whole.slice(0, at) + other + whole.slice(at + 1);
    let isRight = true;
    try {
      JSON.parse(text);
    } catch {
      isRight = false;
    }
    assert.equal(mistakeOf(text) === null, isRight, JSON.stringify(text));
    if (isRight) assert.deepEqual(JSON.parse(tidy(text)), JSON.parse(text), text);
  }
}
assert.equal(tidy('{"n":12345678901234567890123,"e":{ },"l":[1,{"a":[]}]}'), '{\n  "n": 12345678901234567890123,\n  "e": {},\n  "l": [\n    1,\n    {\n      "a": []\n    }\n  ]\n}');
for (const text of right) assert.equal(tidy(tidy(text)), tidy(text), text);
assert.deepEqual(['{}', ' [1]', '1', ''].map(kindOf), ['object', 'list', 'other', 'other']);

// Names of executions.
for (const name of ['', 'a', 'order-1_2.3', 'ü', 'x'.repeat(80)]) assert.equal(nameProblem(name), null, name);
for (const name of ['a b', 'a\n', 'a/b', 'a:b', 'a*', 'x'.repeat(81), 'a\u007f']) assert.match(nameProblem(name) ?? '', /^It .*\.$/, name);
const machine = 'arn:aws:states:us-east-1:000000000000:stateMachine:m';
assert.equal(executionArn(`${machine}:7`, 'e'), 'arn:aws:states:us-east-1:000000000000:execution:m:e');
assert.deepEqual([machineOf(`${machine}:live`), machineOf(machine)], [machine, machine]);
assert.equal(uniqueName(new Uint8Array(16).fill(10)), '0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a');
assert.notEqual(uniqueName(), uniqueName());

// Keys of links, from whatever was pasted.
const key = 'm6YnmXL7Wl00yJmWR4yzkhl5pe6zzeh4XZWuGXtnyig';
for (const text of [key, ` ${key}\n`, `${'http'}://10.0.0.5:4566/console#k=${key}`]) assert.equal(keyOf(text), key, text);
for (const text of ['', 'x', `${key}!`, `#q=${key}`, `${key} ${key.slice(1)}x#k=`]) assert.equal(keyOf(text), null, text);

// Limits of time.
const ms = (/** @type {number} */ left) => `${left} ms`;
assert.deepEqual([timeLeft(null, 5, ms), timeLeft(9, 5, ms), timeLeft(5, 5, ms)], [null, 'in 4 ms', 'now']);

// A fork begins at the state itself, or at what is around it; visits count from 1.
const visit = (/** @type {number} */ index, /** @type {number} */ state, /** @type {number} */ parent) => ({ index, state, parent });
const visits = [visit(0, 0, -1), visit(1, 1, -1), visit(2, 2, 1), visit(3, 1, -1), visit(4, 2, 3), visit(5, 3, 4)];
const states = ['First', 'Each', 'Send', 'Deep'].map((name, index) => ({ name, index, apart: false, visits: visits.filter((one) => one.state === index) }));
const run = /** @type {any} */ ({ visits, states });
const at = (/** @type {number} */ index) => {
  const found = forkPoint(run, /** @type {any} */ (states[visits[index].state]), /** @type {any} */ (visits[index]));
  return found && [found.state.name, found.visit, found.isAround];
};
assert.deepEqual(visits.map((one) => at(one.index)), [['First', 1, false], ['Each', 1, false], ['Each', 1, true], ['Each', 2, false], ['Each', 2, true], ['Each', 2, true]]);
assert.equal(forkPoint(run, /** @type {any} */ (states[0]), null), null);
assert.equal(forkPoint(run, /** @type {any} */ ({ ...states[0], apart: true }), /** @type {any} */ (visits[0])), null);
