// Icons of the page itself, strokes in a box of 16 by 16; those of states and statuses come from the server.

import { html } from './vendor.js';

/** @type {Record<string, string>} */
const PATHS = {
  list: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  machine: 'M8 1.8v2.4M8 11.8v2.4M1.8 8h2.4M11.8 8h2.4M8 4.2a3.8 3.8 0 1 1 0 7.6a3.8 3.8 0 0 1 0-7.6',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5V2.5h8',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 4.8V8l2.3 1.5',
  run: 'M13.5 8A5.5 5.5 0 1 1 8 2.5',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  circle: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3',
  play: 'M5 3.2 12.5 8 5 12.8z',
  pause: 'M5 3v10M11 3v10',
  back: 'M12 3.5 6.5 8l5.5 4.5zM4 3.5v9',
  forward: 'M4 3.5 9.5 8 4 12.5zM12 3.5v9',
  minus: 'M3 8h10',
  plus: 'M8 3v10M3 8h10',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  left: 'M10 3 5 8l5 5',
  right: 'M6 3l5 5-5 5',
  down: 'M3 6l5 5 5-5',
  compare: 'M5 2.5v11M2.5 5 5 2.5 7.5 5M11 13.5v-11M8.5 11l2.5 2.5 2.5-2.5',
  fork: 'M4 2.5V6a3 3 0 0 0 3 3h2a3 3 0 0 1 3 3v1.5M4 6v7.5M9.8 11.5l2.2 2 2-2',
  upload: 'M8 10.5V2.5M4.8 5.5 8 2.5l3.2 3M2.5 10v3.5h11V10',
  chart: 'M2.5 2.5v11h11M5.5 11V8M8.5 11V5M11.5 11V7',
};

/** @param {{name: string, size?: number}} props */
export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

/** @type {Record<string, [string, string, string]>} */
const STATUS = {
  RUNNING: ['Running', 'run', 'run'], SUCCEEDED: ['Succeeded', 'check', 'ok'], FAILED: ['Failed', 'cross', 'fail'],
  TIMED_OUT: ['Timed out', 'clock', 'fail'], ABORTED: ['Aborted', 'cross', 'idle'],
  PENDING_REDRIVE: ['Pending redrive', 'clock', 'wait'],
};
/** @type {Record<string, [string, string]>} */
const TONES = {
  ok: ['Succeeded', 'check'], fail: ['Failed', 'cross'], run: ['Running', 'run'], wait: ['Waiting', 'clock'],
  caught: ['Caught', 'bolt'], idle: ['Not reached', 'circle'],
};

/** The status of an execution in words. @param {string} status */
export function statusWords(status) {
  return STATUS[status]?.[0] ?? status;
}

/** The status of an execution. @param {{status: string}} props */
export function StatusBadge({ status }) {
  const [words, icon, tone] = STATUS[status] ?? [status, 'circle', 'idle'];
  return html`<span class=${`badge t-${tone}`}><${Icon} name=${icon} size=${12} />${words}</span>`;
}

/** The status of a state in words. @param {string} tone @param {boolean} isReached @param {boolean} [isApart]  runs in child executions */
export function toneWords(tone, isReached, isApart = false) {
  if (tone !== 'idle') return TONES[tone][0];
  return isReached ? 'Stopped' : isApart ? 'In child executions' : 'Not reached';
}

/** The status of a state. @param {{tone: string, words: string}} props */
export function ToneBadge({ tone, words }) {
  return html`<span class=${`badge t-${tone}`}><${Icon} name=${TONES[tone][1]} size=${12} />${words}</span>`;
}
