// Instants before and after now, in words, with the instant itself in the tooltip.

import { html } from './vendor.js';
import { ago, instant, iso } from './format.js';

/** How far an instant is from now: "in 3 min", "2 h ago". @param {number} ms @param {number} now */
export function distance(ms, now) {
  if (ms <= now) return ago(ms, now);
  const left = ms - now;
  if (left < 60000) return `in ${Math.ceil(left / 1000)} s`;
  if (left < 3600000) return `in ${Math.round(left / 60000)} min`;
  if (left < 86400000 * 2) return `in ${Math.round(left / 3600000)} h`;
  return `in ${Math.round(left / 86400000)} d`;
}

/** @param {{ms: number | null | undefined}} props */
export function When({ ms }) {
  if (ms === null || ms === undefined) return html`<span class="faint">–</span>`;
  return html`<span title=${iso(ms)}>${distance(ms, Date.now())}</span>`;
}

/** An instant in full, with its distance. @param {{ms: number}} props */
export function Instant({ ms }) {
  return html`<span title=${iso(ms)}>${instant(ms)} <span class="faint">${distance(ms, Date.now())}</span></span>`;
}

/** An instant as clocks of a zone show it; as UTC in a zone that the browser does not know. @param {number} ms @param {string} zone */
export function inZone(ms, zone) {
  /** @type {Intl.DateTimeFormatOptions} */
  const parts = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' };
  try {
    return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: zone }).format(ms);
  } catch {
    return `${new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: 'UTC' }).format(ms)} UTC`;
  }
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** @param {number} bytes @returns {string} 512 bytes, 1.5 KB, 20 MB (of 1,024) */
export function size(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(value < 10 && unit ? 1 : 0)).toLocaleString('en-GB')} ${UNITS[unit]}`;
}
