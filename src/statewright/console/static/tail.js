// What a live view of events keeps: the newest rows, and how many it does not have.

/** @typedef {{number: number, atMs: number, bus: string, event: any, isCut: boolean}} Seen */
/** @typedef {{rows: Seen[], count: number, dropped: number, more: number}} Tail  `dropped` rows were shown and are gone, `more` were never sent */

export const KEPT = 200;

/** @type {Tail} */
export const NOTHING = { rows: [], count: 0, dropped: 0, more: 0 };

/** A tail after one more line. @param {Tail} tail @param {{events: any[], more: number}} line @param {number} [kept] @returns {Tail} */
export function added(tail, line, kept = KEPT) {
  if (!line.events.length && !line.more) return tail;
  const fresh = line.events.map((one, place) => ({ ...one, number: tail.count + place + 1 })).reverse();
  const rows = [...fresh, ...tail.rows];
  return { rows: rows.slice(0, kept), count: tail.count + fresh.length, dropped: tail.dropped + Math.max(0, rows.length - kept), more: tail.more + line.more };
}
