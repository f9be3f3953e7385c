// Payloads of a run, read one by one and kept while the page shows the run.

import { read } from './api.js';
import { parsed } from './diff.js';

/** @typedef {{value: unknown, text: string, isWhole: boolean, length: number}} Payload */

const MOST_KEPT = 100;

/** @param {string} arn */
export function makePayloads(arn) {
  /** @type {Map<string, Promise<Payload | null>>} */
  const kept = new Map();
  return {
    /** A member of an event; null if the event has none. @param {number} event @param {string} member */
    read(event, member) {
      const key = `${event} ${member}`;
      let found = kept.get(key);
      if (!found) {
        found = whole(arn, event, member);
        kept.set(key, found);
        if (kept.size > MOST_KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
        found.catch(() => kept.delete(key));
      }
      return found;
    },
  };
}

const MOST_PAGES = 5;

/** @param {string} arn @param {number} event @param {string} member @returns {Promise<Payload | null>} */
async function whole(arn, event, member) {
  let text = '';
  let offset = 0;
  for (let page = 1; ; page += 1) {
    const found = await read('run/payload', { arn, event, member, offset });
    if (found.text === null) return null;
    text += found.text;
    if (found.next === null) return { value: found.isJson ? parsed(text) : text, text, isWhole: true, length: found.length };
    if (page === MOST_PAGES) return { value: text, text, isWhole: false, length: found.length };
    offset = found.next;
  }
}
