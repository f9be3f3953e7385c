// Reads of a run that is inside the page itself: one that was imported, or exported as a file. Pure.

/**
 * @typedef {{run: any, previous: number[], details: (Record<string, any> | null)[], costs: any, leftOut: number}} Inside
 *   `previous` and `details` are by event, beginning with the first.
 */

const MOST_ROWS = 200;
const SHORT = 400;

/** What a read of the server would answer; undefined for one that a run inside has no answer to.
 * @param {Inside} inside @param {string} name @param {Record<string, any>} query @returns {any} */
export function answerOf(inside, name, query) {
  if (name === 'run') return inside.run;
  if (name === 'run/costs') return inside.costs;
  if (name === 'run/payload') return payload(inside, Number(query.event), String(query.member));
  if (name === 'run/events') return rows(inside, Number(query.from ?? 1), String(query.text ?? ''));
  return undefined;
}

/** @param {Inside} inside @param {number} event @param {string} member */
function payload(inside, event, member) {
  const details = inside.details[event - 1];
  const value = details && Object.hasOwn(details, member) ? details[member] : null;
  if (value === null) return { text: null, isJson: false, next: null, length: 0 };
  const text = textOf(value);
  return { text, isJson: typeof value !== 'string' || isJson(value), next: null, length: text.length };
}

/** @param {Inside} inside @param {number} first @param {string} text */
function rows(inside, first, text) {
  const wanted = text.toLowerCase();
  const { events, eventTypes } = inside.run;
  const found = [];
  let atMs = 0;
  for (let place = 0; place < events.type.length; place += 1) {
    atMs += events.atMs[place];
    const type = eventTypes[events.type[place]];
    const details = inside.details[place] ?? {};
    if (place + 1 < first) continue;
    if (wanted && ![type, ...Object.values(details).map(textOf)].some((words) => words.toLowerCase().includes(wanted))) continue;
    if (found.length === MOST_ROWS) return { rows: found, next: place + 1 };
    found.push({ id: place + 1, previous: inside.previous[place], type, atMs: inside.run.head.startedMs + atMs, details: shortened(details) });
  }
  return { rows: found, next: null };
}

/** @param {Record<string, any>} details */
function shortened(details) {
  return Object.fromEntries(Object.entries(details).map(([name, value]) => {
    if (typeof value === 'number' || typeof value === 'boolean') return [name, value];
    const text = textOf(value);
    return [name, text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text];
  }));
}

/** @param {any} value @returns {string} */
function textOf(value) {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? '';
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
