// In a file that holds a run, what api.js is elsewhere: reads are answered from the file, and nothing else is.

import { signal } from './vendor.js';
import { answerOf } from './local.js';

export const reachable = signal(true);

export class Refused extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The document of this file. */
export const inside = JSON.parse(/** @type {HTMLElement} */ (document.getElementById('run')).textContent ?? '');

/** @returns {Promise<any>} */
function refuse() {
  return Promise.reject(new Refused(404, 'Offline', 'This file holds one run, and has no server to ask.'));
}

/** @param {string} name @param {Record<string, any>} [query] @param {AbortSignal} [_stop] @returns {Promise<any>} */
export function read(name, query = {}, _stop) {
  const answer = answerOf(inside, name, query);
  return answer === undefined ? refuse() : Promise.resolve(answer);
}

export const act = refuse;
export const call = refuse;
export const readLines = refuse;
export const actLines = refuse;
export const blob = refuse;
export const held = new Map();
export const HELD = 'import:';
export const signedOut = signal(null);
export const tokenNow = () => null;
export const takeToken = () => {};
export const regionOf = () => '';
