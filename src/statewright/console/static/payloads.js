// Payloads of a run, read one by one and kept while the page shows the run.

import { read } from './api.js';

/** @typedef {{value: unknown, text: string, isJson: boolean, length: number}} Payload */

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
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const found = await read('run/payload', { arn, event, member, offset: text.length });
    if (found.text === null) return null;
    text += found.text;
    if (text.length >= found.length) return { value: found.isJson ? parsed(text) : text, text, isJson: found.isJson, length: found.length };
    if (page === MOST_PAGES - 1) return { value: text, text, isJson: false, length: found.length };
  }
  return null;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
