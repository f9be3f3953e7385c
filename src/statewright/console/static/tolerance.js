// How many failures a Map Run tolerates, in a number of items and in words. Pure.

import { count, plural } from './format.js';

/**
 * `most` is how many items may fail before the run does; null where any number may.
 * @param {any} run  as DescribeMapRun shows it @param {boolean} hasTolerance
 * @returns {{most: number | null, failed: number, isExceeded: boolean, words: string}}
 */
export function toleranceOf(run, hasTolerance) {
  const { itemCounts: counts, toleratedFailureCount: number = 0, toleratedFailurePercentage: percent = 0 } = run;
  const failed = counts.failed + counts.timedOut;
  if (!hasTolerance || (!number && !percent)) {
    const words = failed ? 'No failure is tolerated, and so the run fails.' : 'No failure is tolerated: the first one fails the run.';
    return { most: 0, failed, isExceeded: failed > 0, words };
  }
  const limits = [...(number ? [number] : []), ...(percent ? [(percent / 100) * counts.total] : [])];
  const most = percent >= 100 && !number ? null : Math.min(...limits);
  const isExceeded = most !== null && failed > most;
  const said = [...(number ? [plural(number, 'failure')] : []), ...(percent ? [`${percent} % of all items`] : [])].join(' or ');
  if (most === null) return { most, failed, isExceeded, words: 'Any number of failures is tolerated.' };
  const room = isExceeded ? `; ${count(failed)} have failed, which is more` : `; ${count(failed)} of ${count(Math.floor(most))} used`;
  return { most, failed, isExceeded, words: `Tolerates ${said}${room}.` };
}
