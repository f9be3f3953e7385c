// Two runs side by side, in words and as rows. Pure.

import { qualifierOf } from './route.js';

/**
 * @typedef {{event: number, end: number | null, status: string, beginMs: number, tookMs: number | null, attempts: number}} Visit
 * @typedef {{state: string, depth: number, a: Visit | null, b: Visit | null, differs: string | null}} Pair
 * @typedef {{member: string, pointer: string, a: string | null, b: string | null, aEvent: number, bEvent: number, pair: number, state: string, more: number}} Value
 */

const MEMBERS = /** @type {Record<string, string>} */ ({ input: 'the input', arguments: 'the arguments', answer: 'the answer', output: 'the output', variables: 'the variables' });

/** What differs first, as a sentence without the values. @param {Value} value */
export function valueWords(value) {
  const more = value.more ? `, and ${value.more} more place${value.more === 1 ? '' : 's'}` : '';
  return `${MEMBERS[value.member] ?? value.member} of ${value.state} at ${value.pointer}${more}`;
}

/** What a pair differs in, in a few words. @param {Pair} pair */
export function pairWords(pair) {
  if (!pair.a) return 'only in B';
  if (!pair.b) return 'only in A';
  const found = [];
  if (pair.a.status !== pair.b.status) found.push('status');
  if (pair.a.attempts !== pair.b.attempts) found.push('attempts');
  if (pair.differs) found.push(pair.differs);
  return found.join(', ');
}

/** How much longer B took, or nothing if it does not matter. @param {Pair} pair @returns {number} milliseconds */
export function slower(pair) {
  if (!pair.a || !pair.b || pair.a.tookMs === null || pair.b.tookMs === null) return 0;
  const by = pair.b.tookMs - pair.a.tookMs;
  return Math.abs(by) >= 50 && Math.abs(by) > 0.2 * Math.max(pair.a.tookMs, pair.b.tookMs) ? by : 0;
}

/** Where a state was entered. @param {string} name @param {Set<string>} inA @param {Set<string>} inB @returns {'both' | 'a' | 'b' | 'none'} */
export function side(name, inA, inB) {
  if (inA.has(name)) return inB.has(name) ? 'both' : 'a';
  return inB.has(name) ? 'b' : 'none';
}

/**
 * The two definitions as the page of a machine compares them: its versions where both runs have one, else the runs. Of an Express run without a version, the definition cannot be read any more.
 * @param {{arn: string, machineArn: string, versionArn: string | null}} a @param {{arn: string, machineArn: string, versionArn: string | null}} b @returns {{machine: string, query: {tab: string, a: string, b: string}} | null}
 */
export function definitionSides(a, b) {
  const isOneMachine = a.machineArn === b.machineArn && a.versionArn && b.versionArn;
  const [one, other] = [a, b].map((run) => (isOneMachine ? qualifierOf(/** @type {string} */ (run.versionArn)) : run.arn.split(':')[5] === 'express' ? run.versionArn : run.arn));
  // A child of a distributed Map names its Map after the machine.
  return one && other ? { machine: b.machineArn.split('/')[0], query: { tab: 'diff', a: one, b: other } } : null;
}

/** The pairs to show. @param {Pair[]} pairs @param {boolean} onlyDiffering @returns {{pair: Pair, number: number}[]} */
export function shownPairs(pairs, onlyDiffering) {
  return pairs.map((pair, number) => ({ pair, number })).filter(({ pair }) => !onlyDiffering || pairWords(pair) || slower(pair));
}
