// What a replay came to, in words and as rows; and mocks as the server takes them. Pure.

/**
 * @typedef {{kind: string, state: string | null, event: number, words: string, pointer?: string, before?: string | null, after?: string | null}} Change
 * @typedef {{state: string, iteration: number[], visit: number, number: number, where: string, resource: string, arguments: string, why: string, isMapRun: boolean}} Missing
 * @typedef {{state: string, iteration?: number[], visit?: number, number?: number, result?: unknown, error?: string, cause?: string, where: string}} Mock
 * @typedef {{state: string, recorded: string | null, replayed: string | null, event: number | null}} Pair
 * @typedef {{verdict: 'same' | 'changed' | 'unjudged', reason: string | null, changes: Change[], missing: Missing | null}} Verdict
 */

/** The tone, the title and a sentence of a verdict. @param {Verdict} found @returns {{tone: string, title: string, words: string}} */
export function verdictWords(found) {
  if (found.verdict === 'same') return { tone: 'ok', title: 'Nothing changes.', words: 'It goes the same way, with the same calls, to the same end.' };
  if (found.verdict === 'unjudged') return { tone: 'wait', title: 'This cannot be judged.', words: found.reason ?? '' };
  const title = found.changes.some((one) => one.kind === 'path') ? 'It goes another way.' : found.missing ? 'It needs an answer that was not recorded.' : 'It changes.';
  const main = found.changes.find((one) => one.kind === 'path') ?? found.changes.find((one) => one.kind === 'answer') ?? found.changes[0];
  return { tone: 'caught', title, words: main?.words ?? '' };
}

/** The end of a run in words. @param {{status: string, error: string | null}} end @param {boolean} isCut */
export function endWords(end, isCut) {
  if (isCut) return 'Stopped: an answer is missing';
  const words = /** @type {Record<string, string>} */ ({ SUCCEEDED: 'Succeeded', FAILED: 'Failed', TIMED_OUT: 'Timed out', ABORTED: 'Aborted', RUNNING: 'Not finished' })[end.status] ?? end.status;
  return end.error ? `${words} with ${end.error}` : words;
}

const STATUS = /** @type {Record<string, string>} */ ({ succeeded: 'Succeeded', caught: 'Caught', failed: 'Failed', stopped: 'Stopped', running: 'Under way' });
const TONES = /** @type {Record<string, string>} */ ({ succeeded: 'ok', caught: 'caught', failed: 'fail', stopped: 'idle', running: 'run' });

/** @param {string | null} status @returns {[string, string]} the tone and the word of a visit's status */
export function visitWords(status) {
  return status === null ? ['idle', ''] : [TONES[status] ?? 'idle', STATUS[status] ?? status];
}

/** The place of the first row on which two ways part, or -1. @param {Pair[]} pairs @param {boolean} isCut  the replay stopped, so that what it lacks is not known */
export function partingRow(pairs, isCut) {
  return pairs.findIndex((one) => one.recorded === null || (one.replayed === null && !isCut));
}

/**
 * A mock from what was typed.
 * @param {Missing} missing @param {{fails: boolean, result: string, error: string, cause: string, every: boolean}} typed @returns {{mock: Mock | null, problem: string}}
 */
export function mockOf(missing, typed) {
  const { state, iteration, visit, number } = missing;
  const where = typed.every ? `every call of ${state} that was not recorded` : missing.where;
  const place = typed.every ? { state, where } : { state, iteration, visit, number, where };
  if (typed.fails) {
    if (!typed.error.trim()) return { mock: null, problem: 'An error needs a name, such as States.TaskFailed.' };
    return { mock: { ...place, error: typed.error.trim(), ...(typed.cause ? { cause: typed.cause } : {}) }, problem: '' };
  }
  try {
    return { mock: { ...place, result: JSON.parse(typed.result) }, problem: '' };
  } catch (problem) {
    return { mock: null, problem: `The result is not JSON: ${/** @type {Error} */ (problem).message}` };
  }
}

/** A mock in words. @param {Mock} mock */
export function mockWords(mock) {
  const text = mock.error !== undefined ? `fails with ${mock.error}` : `answers ${JSON.stringify(mock.result)}`;
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** A definition as it is edited. Numbers that would change are a reason to leave it as it is. @param {string} text */
export function prettyDefinition(text) {
  if (/\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
