// The time axis: from milliseconds of a run to a share of its width, with folded waits. Pure.

/** @typedef {{fromMs: number, toMs: number, from: number, to: number, folded: boolean}} Piece */
/** @typedef {{pieces: Piece[], endMs: number, at: (ms: number) => number, msAt: (share: number) => number}} Scale */

const SHORTEST_FOLD = 0.1;
const LONGER_THAN_REST = 3;
const KEPT = 0.07;
const FOLD_WIDTH = 0.04;

const MOST_GAPS = 12;

/**
 * The longest stretches in which nothing but waits was open, and where the last one begins: null while work goes on.
 * @typedef {{longest: [number, number][], openFrom: number | null}} Gaps
 * @param {{beginMs: number, endMs: number}[]} work  what was not a wait; -1 as its end for what goes on @returns {Gaps}
 */
export function gapsOf(work) {
  const sorted = [...work].sort((one, other) => one.beginMs - other.beginMs);
  /** @type {[number, number][]} */
  const gaps = [];
  let covered = 0;
  for (const bar of sorted) {
    if (bar.beginMs > covered) gaps.push([covered, bar.beginMs]);
    covered = Math.max(covered, bar.endMs < 0 ? Infinity : bar.endMs);
  }
  const longest = gaps.sort((one, other) => other[1] - other[0] - one[1] + one[0]).slice(0, MOST_GAPS);
  return { longest: longest.sort((one, other) => one[0] - other[0]), openFrom: covered === Infinity ? null : covered };
}

/** The stretches that are so long that they hide the rest. @param {Gaps} gaps @param {number} endMs @returns {[number, number][]} */
export function idleStretches({ longest, openFrom }, endMs) {
  /** @type {[number, number][]} */
  const gaps = openFrom !== null && endMs > openFrom ? [...longest, [openFrom, endMs]] : longest;
  const long = gaps.filter(([from, to]) => to - from > SHORTEST_FOLD * endMs);
  const rest = endMs - long.reduce((sum, [from, to]) => sum + to - from, 0);
  return long.filter(([from, to]) => to - from > LONGER_THAN_REST * rest);
}

/** @param {number} endMs @param {[number, number][]} idle @returns {Scale} */
export function makeScale(endMs, idle = []) {
  const whole = Math.max(endMs, 1);
  const rest = Math.max(whole - idle.reduce((sum, [from, to]) => sum + to - from, 0), whole * 0.001);
  const margin = rest * KEPT;
  const folds = idle.map(([from, to]) => /** @type {[number, number]} */ ([from + margin, to - margin]));
  const shown = folds.filter(([from, to]) => to > from);
  const open = whole - shown.reduce((sum, [from, to]) => sum + to - from, 0);
  const width = 1 - shown.length * FOLD_WIDTH;
  /** @type {Piece[]} */
  const pieces = [];
  let at = 0;
  let ms = 0;
  const put = (/** @type {number} */ toMs, /** @type {number} */ share, /** @type {boolean} */ folded) => {
    pieces.push({ fromMs: ms, toMs, from: at, to: at + share, folded });
    ms = toMs;
    at += share;
  };
  for (const [from, to] of shown) {
    put(from, ((from - ms) / open) * width, false);
    put(to, FOLD_WIDTH, true);
  }
  put(whole, ((whole - ms) / open) * width, false);
  return {
    pieces,
    endMs: whole,
    at: (value) => {
      const piece = pieces.find((one) => value <= one.toMs) ?? pieces[pieces.length - 1];
      const length = piece.toMs - piece.fromMs;
      return clamp(piece.from + (length ? ((value - piece.fromMs) / length) * (piece.to - piece.from) : 0));
    },
    msAt: (share) => {
      const piece = pieces.find((one) => share <= one.to) ?? pieces[pieces.length - 1];
      const length = piece.to - piece.from;
      return piece.fromMs + (length ? ((share - piece.from) / length) * (piece.toMs - piece.fromMs) : 0);
    },
  };
}

/** @param {number} value */
function clamp(value) {
  return Math.min(1, Math.max(0, value));
}

const STEPS = [1, 2, 5];

/** Round instants of an axis, at most so many, none in a fold. @param {Scale} scale @param {number} most @returns {number[]} */
export function ticks(scale, most) {
  const open = scale.pieces.filter((piece) => !piece.folded).reduce((sum, piece) => sum + piece.toMs - piece.fromMs, 0);
  const step = roundStep(open / Math.max(1, most));
  /** @type {number[]} */
  const found = [];
  for (const piece of scale.pieces) {
    if (piece.folded) continue;
    for (let ms = Math.ceil(piece.fromMs / step) * step; ms <= piece.toMs && found.length < 40; ms += step) found.push(ms);
  }
  return [...new Set(found)];
}

const LARGE = [1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 900000, 1800000, 3600000, 7200000,
  14400000, 21600000, 43200000, 86400000];

/** @param {number} ms */
function roundStep(ms) {
  if (ms > 500) {
    const found = LARGE.find((step) => step >= ms);
    return found ?? Math.ceil(ms / 86400000) * 86400000;
  }
  for (let power = 1; ; power *= 10) {
    const found = STEPS.find((step) => step * power >= ms);
    if (found) return found * power;
  }
}

/**
 * Puts bars that overlap into lanes, each the first that is free.
 * @template {{beginMs: number, endMs: number}} B @param {B[]} bars  by their begin @param {number} most
 * @returns {{bar: B, lane: number}[]}
 */
export function lanes(bars, most) {
  /** @type {number[]} */
  const free = [];
  return bars.map((bar) => {
    let lane = free.findIndex((until) => until <= bar.beginMs);
    if (lane < 0) lane = free.length < most ? free.length : free.indexOf(Math.min(...free));
    free[lane] = Math.max(bar.endMs, bar.beginMs + 0.001);
    return { bar, lane };
  });
}
