// Keys of all pages; help.js lists them. A part that has `data-key="x"` is pressed by x.

import { signal } from './vendor.js';
import { go } from './navigation.js';
import { PAGES } from './pages.js';
import { format } from './route.js';

/** Which of the overlays is open. @type {{value: '' | 'palette' | 'help'}} */
export const overlay = signal(/** @type {'' | 'palette' | 'help'} */ (''));

/** The page of each key after g. @type {Record<string, string>} */
export const GOES = { o: 'overview', m: 'machines', e: 'executions', q: 'queues', f: 'functions', s: 'schedules', l: 'limits' };
const PATIENCE_MS = 1500;

/** True where letters are text. @param {EventTarget | null} target */
export function isTyping(target) {
  const element = /** @type {HTMLElement | null} */ (target);
  return element instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) || element.isContentEditable) && !(element instanceof HTMLInputElement && /^(checkbox|radio|range)$/.test(element.type));
}

// By the clock of events, which begins with the page.
let sinceG = -Infinity;

addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    overlay.value = overlay.value === 'palette' ? '' : 'palette';
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const isAfterG = event.timeStamp - sinceG < PATIENCE_MS;
  sinceG = -Infinity;
  if (isAfterG && event.key in GOES) {
    const page = GOES[event.key];
    if (!Object.hasOwn(PAGES, page)) return;
    event.preventDefault();
    go(format(page));
  } else if (event.key === 'g') {
    sinceG = event.timeStamp;
  } else if (event.key === '/' || event.key === '?') {
    event.preventDefault();
    overlay.value = event.key === '/' ? 'palette' : 'help';
  } else {
    const part = /** @type {HTMLElement | null} */ (document.querySelector(`[data-key="${CSS.escape(event.key)}"]:not([disabled])`));
    if (!part) return;
    event.preventDefault();
    part.focus();
    part.click();
  }
});
