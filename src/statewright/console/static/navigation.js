// Where the page is, and going elsewhere: links within the console load nothing anew.

import { signal } from './vendor.js';
import { parse } from './route.js';

/** @type {{value: import('./route.js').Route}} */
export const route = signal(parse(location.pathname, location.search));
/** Goes to an address; `replace` for what the back button need not undo. @param {string} address @param {boolean} [replace] */
export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  route.value = parse(location.pathname, location.search);
}

addEventListener('popstate', () => {
  route.value = parse(location.pathname, location.search);
});

document.addEventListener('click', (event) => {
  const target = /** @type {Element} */ (event.target);
  const link = target.closest('a[href^="/console"]');
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
  event.preventDefault();
  go(/** @type {string} */ (link.getAttribute('href')));
});
