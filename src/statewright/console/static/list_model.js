// What lists of executions compute: which rows are drawn, bars of lengths of time, and histograms. Pure.

/** @typedef {{arn: string, name: string, type: string, machine: string, machineArn: string, status: string, startedMs: number, stoppedMs: number | null, error: string | null, cause: string | null, found?: {where: string, before: string, match: string, after: string}}} Listed */
/** @typedef {{fromMs: number, toMs: number, ok: number[], failed: number[], running: number[]}} Histogram */

export const WINDOW = 60;

/**
 * The rows of a long list that are drawn, with the room that the others take before and after them.
 * @param {number} count @param {number} scrolled  pixels above the view @param {number} room  height of the view @param {number} rowHeight
 * @returns {{first: number, last: number, before: number, after: number}}  `last` is behind the last row
 */
export function windowOf(count, scrolled, room, rowHeight) {
  const seen = Math.ceil(room / rowHeight);
  const drawn = Math.max(WINDOW, seen + 20);
  const middle = Math.floor(scrolled / rowHeight) + seen / 2;
  const first = Math.max(0, Math.min(count - drawn, Math.floor(middle - drawn / 2)));
  const last = Math.min(count, first + drawn);
  return { first, last, before: first * rowHeight, after: (count - last) * rowHeight };
}

/** How long an execution took, or has run for. @param {Listed} row @param {number} now */
export function tookMs(row, now) {
  return Math.max(0, (row.stoppedMs ?? now) - row.startedMs);
}

/**
 * The width of the bar of a length of time, from 4 to 72 pixels: the longest of 20 that are not far off has the whole.
 * @param {number} ms @param {number} most
 */
export function barWidth(ms, most) {
  return Math.round(Math.min(72, Math.max(4, most ? (72 * ms) / most : 4)));
}

/** The length of time that a whole bar stands for: the nineteenth of twenty, so that one slow row leaves the others their bars. @param {number[]} lengths */
export function mostOf(lengths) {
  const sorted = [...lengths].sort((one, other) => one - other);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.95))] : 0;
}

const BUCKETS = 96;
/** @type {Record<string, 'ok' | 'failed' | 'running'>} */
const OUTCOMES = { SUCCEEDED: 'ok', FAILED: 'failed', TIMED_OUT: 'failed', ABORTED: 'failed' };

/** Counts rows by when they started and how they ended. @param {Listed[]} rows @param {number} fromMs @param {number} toMs @returns {Histogram} */
export function countBy(rows, fromMs, toMs) {
  const found = { fromMs, toMs, ok: Array(BUCKETS).fill(0), failed: Array(BUCKETS).fill(0), running: Array(BUCKETS).fill(0) };
  const width = Math.max(1, toMs - fromMs);
  for (const row of rows) {
    const step = Math.min(BUCKETS - 1, Math.max(0, Math.floor(((row.startedMs - fromMs) * BUCKETS) / width)));
    found[OUTCOMES[row.status] ?? 'running'][step] += 1;
  }
  return found;
}

/**
 * Bars of a histogram, one above the other, in a box of `height`; anything that is there is at least 2 high.
 * @param {Histogram} histogram @param {number} height @returns {{step: number, tone: string, y: number, height: number}[]}
 */
export function barsOf(histogram, height) {
  const sums = histogram.ok.map((n, step) => n + histogram.failed[step] + histogram.running[step]);
  const most = Math.max(1, ...sums);
  const bars = [];
  for (let step = 0; step < sums.length; step += 1) {
    let y = height;
    for (const [tone, numbers] of /** @type {[string, number[]][]} */ ([['ok', histogram.ok], ['run', histogram.running], ['fail', histogram.failed]])) {
      if (!numbers[step]) continue;
      const tall = Math.max(2, Math.round((numbers[step] / most) * (height - 16)));
      y = Math.max(0, y - tall);
      bars.push({ step, tone, y, height: tall });
    }
  }
  return bars;
}

/** @param {number[]} numbers */
export function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}

/**
 * The rows that are shown once the newest page has been read again: that page, and what was shown before behind it. What
 * the page no longer has is gone. If more came than a page holds, the list begins anew.
 * @param {{rows: Listed[], next: string | null}} shown @param {{executions: Listed[], next: string | null}} page
 * @returns {{rows: Listed[], next: string | null}}
 */
export function renewed(shown, page) {
  const last = page.executions[page.executions.length - 1];
  if (page.next === null || !last) return { rows: page.executions, next: page.next };
  const here = new Set(page.executions.map((row) => row.arn));
  const older = shown.rows.filter((row) => !here.has(row.arn) && row.startedMs <= last.startedMs);
  const meets = shown.rows.some((row) => here.has(row.arn));
  if (!older.length || !meets) return { rows: page.executions, next: page.next };
  return { rows: [...page.executions, ...older], next: shown.next };
}

/** The length of time that a person wrote, in milliseconds: 500 ms, 10 s, 5 min, 2h; null for anything else. @param {string} text */
export function milliseconds(text) {
  const found = /^\s*(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|min|m|h|d)?\s*$/.exec(text);
  if (!found) return null;
  const unit = { ms: 1, s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[found[2] ?? 's'] ?? 1000;
  return Math.round(Number(found[1]) * unit);
}

/** The place in a search that a refusal names, from 0; null if it names none. @param {string} message */
export function placeIn(message) {
  const found = /^At character (\d+):/.exec(message);
  return found ? Number(found[1]) - 1 : null;
}
