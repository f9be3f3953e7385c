// The maths of charts: scales, ticks and paths, in a box of 1,000 by 100. Pure.

export const WIDTH = 1000;
export const HEIGHT = 100;

/** @typedef {[number, number]} Point  an instant in epoch milliseconds, and a value */

/** The upper end of an axis: 1, 2, 2.5 or 5 times a power of ten, and at least 1. @param {number} value @returns {number} */
export function niceMax(value) {
  if (!Number.isFinite(value) || value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= value - 1e-9) ?? 10;
  return step * power;
}

/** Up to five values from 0 to the end of an axis, the highest first; whole numbers where the end is small. @param {number} max @returns {number[]} */
export function valueTicks(max) {
  const parts = max <= 1 ? 1 : max % 4 === 0 ? 4 : max % 5 === 0 ? 5 : max % 2 === 0 ? 2 : 1;
  return Array.from({ length: parts + 1 }, (_, place) => (max * (parts - place)) / parts);
}

/** The share of a value in a whole, from 0 to 1. @param {number} value @param {number} whole */
export function share(value, whole) {
  if (!(whole > 0) || !Number.isFinite(value)) return 0;
  return Math.min(1, Math.max(0, value / whole));
}

/**
 * At most so many points: of each stretch the highest, so that a peak is never lost.
 * @param {Point[]} points @param {number} most @returns {Point[]}
 */
export function thinned(points, most) {
  if (points.length <= most) return points;
  /** @type {Point[]} */
  const kept = [];
  for (let place = 0; place < most; place += 1) {
    const from = Math.floor((place * points.length) / most);
    const to = Math.floor(((place + 1) * points.length) / most);
    let best = points[from];
    for (let at = from + 1; at < to; at += 1) if (points[at][1] > best[1]) best = points[at];
    kept.push(best);
  }
  return kept;
}

/** @param {number} ms @param {number} from @param {number} to */
export function xOf(ms, from, to) {
  return WIDTH * share(ms - from, to - from);
}

/** @param {number} value @param {number} max */
export function yOf(value, max) {
  return HEIGHT * (1 - share(value, max));
}

/**
 * The line through points; with `steps`, values hold until the next point.
 * @param {Point[]} points @param {number} from @param {number} to @param {number} max @param {boolean} [steps] @returns {string}
 */
export function linePath(points, from, to, max, steps = false) {
  return points.map(([ms, value], place) => {
    const x = round(xOf(ms, from, to));
    const y = round(yOf(value, max));
    if (!place) return `M${x} ${y}`;
    return steps ? `H${x}V${y}` : `L${x} ${y}`;
  }).join('');
}

/** The area below such a line. @param {Point[]} points @param {number} from @param {number} to @param {number} max @param {boolean} [steps] */
export function areaPath(points, from, to, max, steps = false) {
  if (!points.length) return '';
  const first = round(xOf(points[0][0], from, to));
  const last = round(xOf(points[points.length - 1][0], from, to));
  return `${linePath(points, from, to, max, steps)}L${last} ${HEIGHT}L${first} ${HEIGHT}Z`;
}

/** A dot at each point. @param {Point[]} points @param {number} from @param {number} to @param {number} max */
export function dotsPath(points, from, to, max) {
  return points.map(([ms, value]) => `M${round(xOf(ms, from, to))} ${round(yOf(value, max))}h0.01`).join('');
}

/**
 * Points with 0 for each step that has none, for what is counted. @param {Point[]} points  by time, at multiples of the step
 * @param {number} from @param {number} to  not included @param {number} stepMs @returns {Point[]}
 */
export function filled(points, from, to, stepMs) {
  const known = new Map(points);
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / stepMs)) }, (_, place) => {
    const ms = from + place * stepMs;
    return [ms, known.get(ms) ?? 0];
  });
}

/** The place of the point that is nearest to an instant; -1 without points. @param {Point[]} points  by time @param {number} ms */
export function nearest(points, ms) {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < ms) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && ms - points[low - 1][0] < points[low][0] - ms) low -= 1;
  return points.length ? low : -1;
}

/**
 * Shares of a bar by their numbers; what is there is at least `least` wide, at the cost of the others.
 * @param {number[]} numbers @param {number} [least] @returns {number[]} shares that add up to 1, or zeros
 */
export function parts(numbers, least = 0.004) {
  const whole = numbers.reduce((sum, one) => sum + one, 0);
  if (!whole) return numbers.map(() => 0);
  const wide = numbers.map((one) => (one ? Math.max(least, one / whole) : 0));
  const sum = wide.reduce((total, one) => total + one, 0);
  return wide.map((one) => one / sum);
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}
