// Reads of the server: one function for each address, JSON in and out.

import { signal } from './vendor.js';

/** Whether the server answered the last read. */
export const reachable = signal(true);

/** A refusal of the server, in its words. */
export class Refused extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} name  path below /console/api/
 * @param {Record<string, string | number | null | undefined>} [query]
 * @param {AbortSignal} [stop]
 * @returns {Promise<any>}
 */
export async function read(name, query = {}, stop) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  let answer;
  try {
    answer = await fetch(`/console/api/${name}?${words}`, { signal: stop, cache: 'no-store' });
  } catch (problem) {
    if (stop?.aborted) throw problem;
    throw unreachable();
  }
  let document;
  try {
    document = await answer.json();
  } catch (problem) {
    if (stop?.aborted) throw problem;
    // A server that stops in the middle of an answer; a proxy answers with a page of its own.
    throw answer.ok ? unreachable() : new Refused(answer.status, 'Error', `The server answered ${answer.status}.`);
  }
  reachable.value = true;
  if (!answer.ok) throw new Refused(answer.status, document.error ?? 'Error', document.message ?? answer.statusText);
  return document;
}

function unreachable() {
  reachable.value = false;
  return new Refused(0, 'Unreachable', 'The server does not answer. Is it running?');
}
