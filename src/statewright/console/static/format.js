// Durations, instants and counts as text. Instants are in the zone that was chosen.

import { signal } from './vendor.js';
import { kept, keep } from './kept.js';

/** @param {number} ms @returns {string} a duration: 0 ms, 169 ms, 1.36 s, 14 s, 3 min 5 s, 2 h 4 min, 3 d 2 h */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${trimmed(s, s < 10 ? 2 : 1)} s`;
  if (s < 3600) return two(s, 60, 'min', 1, 's');
  if (s < 86400) return two(s, 3600, 'h', 60, 'min');
  return two(s, 86400, 'd', 3600, 'h');
}

/** @param {number} s @param {number} big @param {string} bigName @param {number} small @param {string} smallName */
function two(s, big, bigName, small, smallName) {
  const whole = Math.floor(s / big);
  const rest = Math.floor((s - whole * big) / small);
  return rest ? `${whole} ${bigName} ${rest} ${smallName}` : `${whole} ${bigName}`;
}

/** @param {number} value @param {number} digits */
function trimmed(value, digits) {
  return String(Number(value.toFixed(digits)));
}

/** @param {number} ms @returns {string} a place on the time axis: 0, +500 ms, +3.07 s */
export function offset(ms) {
  return ms === 0 ? '0' : `+${duration(ms)}`;
}

/** The zone of instants: `UTC` or `local`. @type {{value: 'UTC' | 'local'}} */
export const zone = signal(/** @type {'UTC' | 'local'} */ (kept('zone') === 'local' ? 'local' : 'UTC'));

/** @param {'UTC' | 'local'} chosen */
export function chooseZone(chosen) {
  zone.value = chosen;
  keep('zone', chosen);
}

/** @returns {string} the zone of instants in words: UTC, or the browser's, as in GMT+1 */
export function zoneName() {
  if (zone.value === 'UTC') return 'UTC';
  return new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(0).find((part) => part.type === 'timeZoneName')?.value ?? 'local';
}

const DAY = /** @type {const} */ ({ day: 'numeric', month: 'short' });
const TIME = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const FORMATS = {
  UTC: { day: new Intl.DateTimeFormat('en-GB', { ...DAY, timeZone: 'UTC' }), time: new Intl.DateTimeFormat('en-GB', { ...TIME, timeZone: 'UTC' }) },
  local: { day: new Intl.DateTimeFormat('en-GB', DAY), time: new Intl.DateTimeFormat('en-GB', TIME) },
};

/** @param {number} ms @returns {string} 22 Nov, 03:51:10 */
export function instant(ms) {
  const { day, time } = FORMATS[zone.value];
  return `${day.format(ms)}, ${time.format(ms)}`;
}

/** @param {number} ms @param {number} now @returns {string} the time alone on the day of `now`: 03:51:10, or 22 Nov, 03:51:10 */
export function moment(ms, now) {
  const { day, time } = FORMATS[zone.value];
  return day.format(ms) === day.format(now) ? time.format(ms) : instant(ms);
}

/** @param {number} ms */
export function iso(ms) {
  return new Date(ms).toISOString();
}

/** @param {number} value @returns {string} 999, 1,204, 110k, 2.4M */
export function count(value) {
  if (value < 10000) return value.toLocaleString('en-GB');
  if (value < 1e6) return `${trimmed(value / 1e3, value < 1e5 ? 1 : 0)}k`;
  return `${trimmed(value / 1e6, 1)}M`;
}

/** @param {number} usd */
export function dollars(usd) {
  return usd === 0 ? '$0' : `$${usd < 0.01 ? usd.toFixed(6) : usd.toFixed(2)}`;
}

/** @param {number} ms @param {number} now @returns {string} how long ago */
export function ago(ms, now) {
  const past = Math.max(0, now - ms);
  return `${duration(Math.floor(past / 1000) * 1000).replace(/^0 ms$/, '0 s')} ago`;
}

/** A name within a sentence: invisible characters, and those that reverse the text after them, are shown as such. @param {string} text */
export function plain(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, '\ufffd');
}

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = `${one}s`) {
  return `${n.toLocaleString('en-GB')} ${n === 1 ? one : many}`;
}
