// Signing in: the key of a link becomes a token, which only this page has, in a tab's own storage and in a header.
//
// There is no cookie: browsers send those of one port to all others of a machine. Tabs of this console hand the token to
// each other, so that a link to a new tab needs no new sign-in.

import { act, signedOut, takeToken, tokenNow } from './api.js';
import { go, route } from './navigation.js';
import { format } from './route.js';

const PLACE = 'statewright.place';
const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel('statewright') : null;
/** Tokens that were of no use here. @type {Set<string>} */
const spent = new Set();
/** Whether a sign-in of another tab is taken: not by a user who has just signed out. */
let isOpen = true;
/** What is said after a user has signed out. */
export const OUT = 'You have signed out.';

if (channel) {
  channel.onmessage = ({ data }) => {
    const mine = tokenNow();
    if (data?.kind === 'ask' && mine && !signedOut.value) channel.postMessage({ kind: 'token', token: mine });
    if (data?.kind === 'token' && typeof data.token === 'string' && isOpen && signedOut.value && !spent.has(data.token)) {
      spent.add(data.token);
      takeToken(data.token);
    }
  };
}

/** Signs in with the key in the address, if there is one; it is taken out of the address before. */
export async function enter() {
  const key = location.hash.startsWith('#k=') ? location.hash.slice(3) : null;
  if (key === null) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await open(key);
  } catch (problem) {
    // One who is signed in stays so; a server that asks for nothing answers the page as ever.
    const { status, message } = /** @type {import('./api.js').Refused} */ (problem);
    if (status === 401 && tokenNow() === null) signedOut.value = message;
  }
}

/** Asks the other tabs for their sign-in, and keeps the address for a link that is opened in this one. */
export function askAround() {
  channel?.postMessage({ kind: 'ask' });
  const { page, id, query } = route.value;
  if (page) sessionStorage.setItem(PLACE, format(page, id, query));
}

/** Signs in. @param {string} key  the one-time key of a link */
export async function open(key) {
  const { token } = await act('session', { key });
  isOpen = true;
  takeToken(token);
  channel?.postMessage({ kind: 'token', token });
  const before = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (before && !route.value.page) go(before, true);
}

addEventListener('hashchange', async () => {
  if (!location.hash.startsWith('#k=')) return;
  const wasOut = signedOut.value;
  await enter();
  // What the page shows may be another user's; after a sign-out the page finds out by itself.
  if (!wasOut && !signedOut.value) location.reload();
});

/** Ends this sign-in, here and on the server. @param {string} id  of the session */
export async function signOut(id) {
  await act('sessions/end', { id });
  isOpen = false;
  takeToken(null);
  signedOut.value = OUT;
}
