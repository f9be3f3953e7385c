// Where the page is, and going elsewhere: links within the console load nothing anew.

import { signal } from './vendor.js';
import { here, parse, regionIn } from './route.js';

/** @type {{value: import('./route.js').Route}} */
export const route = signal(routeOf(location));

/** @param {{pathname: string, search: string}} address */
function routeOf({ pathname, search }) {
  const found = parse(pathname, search);
  here.region = regionIn(found);
  return found;
}

// Browsers ignore or refuse many changes of the address in a short time, as of a run that plays.
const PAUSE_MS = 250;
/** @type {string | null} */
let unwritten = null;
let timer = 0;

/** Goes to an address; `replace` for what the back button need not undo. @param {string} address @param {boolean} [replace] */
export function go(address, replace = false) {
  const url = new URL(address, location.href);
  if (!replace) {
    write();
    history.pushState(null, '', address);
  } else if (timer) {
    unwritten = address;
  } else {
    history.replaceState(null, '', address);
    timer = setTimeout(write, PAUSE_MS);
  }
  route.value = routeOf(url);
}

/** Writes the address that waits. */
function write() {
  clearTimeout(timer);
  timer = 0;
  if (unwritten !== null) history.replaceState(null, '', unwritten);
  unwritten = null;
}

addEventListener('pagehide', write);
addEventListener('popstate', () => {
  unwritten = null;
  route.value = routeOf(location);
});

document.addEventListener('click', (event) => {
  const target = /** @type {Element} */ (event.target);
  const link = target.closest('a[href^="/console"]');
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
  event.preventDefault();
  go(/** @type {string} */ (link.getAttribute('href')));
});
