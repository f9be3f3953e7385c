// Reads of the server: one function for each address, JSON in and out.

import { signal } from './vendor.js';
import { here } from './route.js';

export { regionOf } from './route.js';

/** Whether the server answered the last read. */
export const reachable = signal(true);

/** Why the page has to sign in, in words; null while it need not. @type {{value: string | null}} */
export const signedOut = signal(/** @type {string | null} */ (null));

const TOKEN = 'statewright.token';
/** The action that swaps the key of a link for a token. */
const OPENING = 'session';
const SIGN_IN = 'SignInRequired';

/** The token of this tab. @returns {string | null} */
export function tokenNow() {
  return sessionStorage.getItem(TOKEN);
}

/** Signs in with a token, or forgets that of this tab. @param {string | null} token */
export function takeToken(token) {
  if (token === null) sessionStorage.removeItem(TOKEN);
  else {
    sessionStorage.setItem(TOKEN, token);
    signedOut.value = null;
  }
}

/** The server asks for a sign-in. @param {string} message @param {string | null} used  the token that it refused */
function leave(message, used) {
  // A request of before the present sign-in says nothing about that.
  if (used !== tokenNow()) return;
  sessionStorage.removeItem(TOKEN);
  signedOut.value ??= message;
}

/** A refusal of the server, in its words. */
export class Refused extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @typedef {Record<string, string | number | null | undefined>} Query */

/** Runs that this tab holds itself, by the ARN under which the page shows them: they answer their own reads.
 * @type {Map<string, (name: string, query: Query) => any>} */
export const held = new Map();
/** What their ARNs begin with. */
export const HELD = 'import:';

/** Reads a document. @param {string} name  path below /console/api/ @param {Query} [query] @param {AbortSignal} [stop] @returns {Promise<any>} */
export function read(name, query = {}, stop) {
  if (String(query.arn).startsWith(HELD)) return readHeld(name, query);
  return documentOf(asked(name, query, { signal: stop }), stop);
}

/** Reads a file. @param {string} name @param {Query} query @returns {Promise<Blob>} */
export async function blob(name, query) {
  const answer = await asked(name, query, {});
  if (!answer.ok) await documentOf(Promise.resolve(answer));
  return answer.blob();
}

/** Posts a document. @param {string} name @param {object} document @param {AbortSignal} [stop] @param {boolean} [isRead] @returns {Promise<any>} */
export function act(name, document, stop, isRead) {
  const headers = { 'content-type': 'application/json' };
  return documentOf(asked(name, {}, { method: 'POST', headers, body: JSON.stringify({ region: here.region, ...document }), signal: stop }, isRead), stop);
}

/** Operations that change nothing. */
const READING = /^(Describe|Filter|Get|List|Query|Scan)/;

/**
 * Calls an operation of a service.
 * @param {string} service  its signing name @param {string} operation @param {Record<string, unknown>} [request] @param {AbortSignal} [stop]
 * @param {string} [region]  default: that of the page
 */
export function call(service, operation, request = {}, stop, region = here.region) {
  return act('call', { service, operation, request, region }, stop, READING.test(operation));
}

/**
 * Reads an answer that goes on: one document a line.
 * @param {string} name @param {Query} query @param {(document: any) => void} onLine @param {AbortSignal} stop
 */
export async function readLines(name, query, onLine, stop) {
  await lines(asked(name, query, { signal: stop }), onLine, stop);
}

/** Posts a document, and reads an answer that goes on. @param {string} name @param {object} document @param {(document: any) => void} onLine @param {AbortSignal} stop */
export async function actLines(name, document, onLine, stop) {
  const headers = { 'content-type': 'application/json' };
  await lines(asked(name, {}, { method: 'POST', headers, body: JSON.stringify({ region: here.region, ...document }), signal: stop }), onLine, stop);
}

/** @param {Promise<Response>} asking @param {(document: any) => void} onLine @param {AbortSignal} stop */
async function lines(asking, onLine, stop) {
  const used = tokenNow();
  const answer = await asking;
  if (!answer.ok || !answer.body) {
    await documentOf(Promise.resolve(answer), stop);
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split('\n');
      rest = /** @type {string} */ (parts.pop());
      for (const line of parts) {
        const document = JSON.parse(line);
        if (document.error === SIGN_IN) leave(document.message, used);
        if (document.error !== undefined && document.message !== undefined) throw new Refused(answer.status, document.error, document.message);
        onLine(document);
      }
    }
  } catch (problem) {
    if (stop.aborted || problem instanceof Refused) throw problem;
    throw unreachable();
  }
}

/**
 * Asks the server. A read for which the user has to sign in goes on after that; an action is refused.
 * @param {string} name @param {Query} query @param {RequestInit} more @param {boolean} [isRead] @returns {Promise<Response>}
 */
async function asked(name, query, more, isRead = !more.method) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries({ region: here.region, ...query })) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  const search = words.toString();
  const token = name === OPENING ? null : tokenNow();
  const headers = { ...more.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
  let answer;
  try {
    answer = await fetch(`/console/api/${name}${search ? `?${search}` : ''}`, { cache: 'no-store', ...more, headers });
    reachable.value = true;
  } catch (problem) {
    if (more.signal?.aborted) throw problem;
    throw unreachable();
  }
  if (answer.status !== 401 || name === OPENING) return answer;
  leave((await answer.clone().json().catch(() => ({}))).message ?? 'This console asks you to sign in.', token);
  if (!isRead) return answer;
  await (await import('./signed_in.js')).signedIn(more.signal);
  return asked(name, query, more, isRead);
}

/** @param {Promise<Response>} asking @param {AbortSignal} [stop] */
async function documentOf(asking, stop) {
  const answer = await asking;
  let document;
  try {
    document = await answer.json();
  } catch (problem) {
    if (stop?.aborted) throw problem;
    // A server that stops in the middle of an answer; a proxy answers with a page of its own.
    throw answer.ok ? unreachable() : new Refused(answer.status, 'Error', `The server answered ${answer.status}.`);
  }
  if (!answer.ok) throw new Refused(answer.status, document.error ?? 'Error', document.message ?? answer.statusText);
  return document;
}

function unreachable() {
  reachable.value = false;
  return new Refused(0, 'Unreachable', 'The server does not answer. Is it running?');
}

/** @param {string} name @param {Query} query */
async function readHeld(name, query) {
  const answers = held.get(String(query.arn));
  if (!answers) throw new Refused(404, 'Gone', 'An imported history stays in the tab that opened it, until that is loaded anew. Import the file again.');
  const answer = answers(name, query);
  if (answer === undefined) throw new Refused(404, 'Offline', 'This is an imported history, about which the server knows nothing.');
  return answer;
}
