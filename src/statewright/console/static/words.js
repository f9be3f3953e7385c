// What happened to a visit, as a sentence. Pure.

import { duration, plain } from './format.js';
import { attemptsAt } from './model.js';

/** @type {Record<string, string>} */
const ENDS = { ABORTED: 'was aborted', TIMED_OUT: 'timed out' };

/** @param {import('./model.js').Run} run @param {import('./model.js').Visit} visit @param {number} at @returns {string} */
export function sentence(run, visit, at) {
  const isOver = visit.end > 0 && visit.end <= at;
  const attempts = attemptsAt(visit, at);
  const failed = attempts.filter((one) => one.failed);
  if (!isOver) {
    const state = run.states[visit.state];
    if (state.type === 'Wait') return 'Waiting.';
    if (state.waits) return 'Waiting for an answer with its task token.';
    if (!failed.length) return 'Under way.';
    const now = failed.length < attempts.length ? `Under way, attempt ${attempts.length}` : 'Waiting to try again';
    return `${now}, after ${errors(failed)}.`;
  }
  const next = visit.next >= 0 ? plain(run.states[visit.next].name) : null;
  const type = run.states[visit.state].type;
  const last = failed.length ? failed[failed.length - 1].error : null;
  const error = last === null ? null : plain(last);
  if (visit.status === 'caught') {
    return `Failed with ${error ?? 'an error'}${tries(failed)}; a Catch took it to ${next ?? 'the next state'}.`;
  }
  if (visit.status === 'failed') return error ? `Failed with ${error}${tries(failed)}.` : 'Failed.';
  if (visit.status === 'stopped') {
    const end = visit.end === run.length ? ENDS[run.head.status] : null;
    return end ? `Stopped, because the execution ${end}.` : 'Stopped, because another state failed.';
  }
  if (type === 'Choice') return next ? `Chose ${next}.` : 'Chose.';
  if (!failed.length) return `Succeeded${next ? `, then ${next}` : ''}.`;
  const waits = failed.map((one) => one.waitedMs).filter((ms) => ms > 0).slice(0, 5);
  const waited = waits.length ? `; waited ${waits.map((ms) => duration(ms)).join(', then ')}` : '';
  return `Succeeded on attempt ${attempts.length}, after ${errors(failed)}${waited}.`;
}

/** @param {import('./model.js').Attempt[]} failed */
function errors(failed) {
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const { error } of failed) {
    const name = plain(error ?? 'an error');
    times.set(name, (times.get(name) ?? 0) + 1);
  }
  return [...times].map(([error, n]) => (n === 1 ? error : `${error} ${n} times`)).join(' and ');
}

/** @param {import('./model.js').Attempt[]} failed */
function tries(failed) {
  return failed.length > 1 ? ` after ${failed.length} attempts` : '';
}
