// The items of a Map Run as cells of a grid: order, places, and the cell under a point. Pure.

/** Statuses as the server numbers them, with a tone, a word, and the place in a list that begins with what failed. */
export const STATUSES = [
  { name: 'PENDING', tone: 'idle', words: 'Pending', rank: 6 },
  { name: 'RUNNING', tone: 'run', words: 'Running', rank: 4 },
  { name: 'SUCCEEDED', tone: 'ok', words: 'Succeeded', rank: 5 },
  { name: 'FAILED', tone: 'fail', words: 'Failed', rank: 0 },
  { name: 'TIMED_OUT', tone: 'fail', words: 'Timed out', rank: 1 },
  { name: 'ABORTED', tone: 'caught', words: 'Aborted', rank: 2 },
  { name: 'PENDING_REDRIVE', tone: 'wait', words: 'Pending redrive', rank: 3 },
];

/** @typedef {{columns: number, rows: number, size: number, gap: number, width: number, height: number}} Grid */

const SIZES = [18, 14, 11, 9, 7, 5, 4];
const GOOD_HEIGHT = 320;

/** A grid for so many cells in a width: the largest cells that stay within a good height, else the smallest. @param {number} cells @param {number} width @returns {Grid} */
export function gridOf(cells, width) {
  const wide = Math.max(40, Math.floor(width));
  let grid = null;
  for (const size of SIZES) {
    const gap = size > 5 ? 2 : 1;
    const columns = Math.max(1, Math.floor((wide + gap) / (size + gap)));
    const rows = Math.ceil(cells / columns);
    grid = { columns, rows, size, gap, width: wide, height: Math.max(size, rows * (size + gap) - gap) };
    if (grid.height <= GOOD_HEIGHT) return grid;
  }
  return /** @type {Grid} */ (grid);
}

/**
 * The cells in their order: by index, or those that failed first. Items in no child yet are pending cells at the end.
 * @param {string} strip  a digit for each child @param {boolean} failedFirst @param {number} [more] pending cells @returns {Uint32Array} indexes
 */
export function orderOf(strip, failedFirst, more = 0) {
  const order = new Uint32Array(strip.length + more);
  if (!failedFirst) {
    for (let place = 0; place < order.length; place += 1) order[place] = place;
    return order;
  }
  let place = 0;
  const byRank = STATUSES.map((one, digit) => ({ digit, rank: one.rank })).sort((one, other) => one.rank - other.rank);
  for (const { digit } of byRank) {
    for (let index = 0; index < strip.length; index += 1) if (strip.charCodeAt(index) - 48 === digit) order[place++] = index;
  }
  while (place < order.length) order[place] = place++;
  return order;
}

/** The status of a cell, by number. @param {string} strip @param {number} index */
export function statusAt(strip, index) {
  const digit = strip.charCodeAt(index) - 48;
  return digit >= 0 && digit < STATUSES.length ? digit : 0;
}

/** The place of the cell under a point; -1 for none. @param {Grid} grid @param {number} cells @param {number} x @param {number} y */
export function placeAt(grid, cells, x, y) {
  const step = grid.size + grid.gap;
  const column = Math.floor(x / step);
  const row = Math.floor(y / step);
  const place = row * grid.columns + column;
  return x < 0 || y < 0 || column >= grid.columns || place >= cells ? -1 : place;
}

/** The corner of a cell. @param {Grid} grid @param {number} place @returns {[number, number]} */
export function cornerOf(grid, place) {
  const step = grid.size + grid.gap;
  return [(place % grid.columns) * step, Math.floor(place / grid.columns) * step];
}
