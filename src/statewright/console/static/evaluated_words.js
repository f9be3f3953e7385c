// The steps of a state in words. Pure.

import { parsed } from './diff.js';

/**
 * @typedef {{name: string, title: string, from: string | null, field: string | null, value: string | null, recorded: string | null, isRecorded: boolean}} Step
 * @typedef {{number: number, event: number, error: string | null, failed: boolean, catchIndex: number | null,
 *   retry: {index: number, rule: any, isExhausted: boolean, backoffSeconds: number | null, waitedMs: number | null} | null}} Attempt
 */

/** A value of the server, JSON or what was cut of it. @param {string | null} text @returns {unknown} */
export function valueOf(text) {
  return text === null ? undefined : parsed(text);
}

/** Where a step's value comes from. @param {Step} step @param {string[]} chance @returns {[string, string]} tone and words */
export function originWords(step, chance) {
  if (step.isRecorded) return ['idle', 'recorded'];
  if (step.recorded !== null) return ['wait', chance.length ? 'recomputed, differs by chance or time' : 'recomputed, differs'];
  return ['accent', 'recomputed'];
}

/** Whether a step changed nothing of the step that it is shown against. @param {Step} step @param {Map<string, Step>} byName */
export function isUnchanged(step, byName) {
  const before = step.from === null ? null : byName.get(step.from);
  return Boolean(before) && before?.value === step.value;
}

/** Which retrier or catcher an attempt met. @param {Attempt} attempt @param {(ms: number) => string} duration */
export function attemptWords(attempt, duration) {
  if (!attempt.failed) return 'It succeeded.';
  const parts = [];
  if (attempt.retry) {
    const { index, isExhausted, backoffSeconds, waitedMs } = attempt.retry;
    if (isExhausted) parts.push(`Retry ${index + 1} has no attempts left`);
    else parts.push(`Retry ${index + 1}${backoffSeconds === null || backoffSeconds === undefined ? '' : `: back-off about ${backoffSeconds} s`}${waitedMs === null ? '' : `, it waited ${duration(waitedMs)}`}`);
  }
  if (attempt.catchIndex !== null && attempt.catchIndex !== undefined) parts.push(`Catch ${attempt.catchIndex + 1} took it`);
  return parts.length ? `${parts.join('; ')}.` : 'No Retry and no Catch is for this error.';
}
