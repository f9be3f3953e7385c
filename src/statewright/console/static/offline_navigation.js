// In a file that holds a run, what navigation.js is elsewhere: the address is what follows the # of the file's own.

import { signal } from './vendor.js';
import { parse } from './route.js';

/** @type {{value: import('./route.js').Route}} */
export const route = signal(read());

function read() {
  const [path, search = ''] = location.hash.slice(1).split('?');
  return parse(path, search);
}

/** @param {string} address @param {boolean} [replace] */
export function go(address, replace = false) {
  const { pathname, search } = new URL(address, 'file:///');
  if (!pathname.startsWith('/console/execution/')) return;
  const hash = `#${pathname}${search}`;
  if (replace) history.replaceState(null, '', hash);
  else location.hash = hash;
  route.value = parse(pathname, search);
}

addEventListener('hashchange', () => {
  route.value = read();
});

// Links of the console lead nowhere here.
document.addEventListener('click', (event) => {
  if (/** @type {Element} */ (event.target).closest('a[href^="/console"]')) event.preventDefault();
});
