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
  download: 'M8 2v8M4.8 7 8 10.2 11.2 7M2.8 13.5h10.4',
  pin: 'M5.5 2h5M6.2 2v4.2L4 9h8L9.8 6.2V2M8 9v5',
  wrench: 'M13.4 4.6a3.4 3.4 0 0 1-4.6 4L4.4 13 3 11.6l4.4-4.4a3.4 3.4 0 0 1 4-4.6L9.3 4.7l2 2z',
  stop: 'M4 4h8v8H4z',
  again: 'M13 8a5 5 0 1 1-1.5-3.5M11.8 1.8v3h-3',
  settings: 'M8 5.7a2.3 2.3 0 1 1 0 4.6a2.3 2.3 0 0 1 0-4.6M8 1.8v1.7M8 12.5v1.7M1.8 8h1.7M12.5 8h1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M3.6 12.4l1.2-1.2M11.2 4.8l1.2-1.2',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9M10.3 10.3l3.4 3.4',
  grid: 'M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z',
  screen: 'M2 3h12v8H2zM6 13.5h4M8 11v2.5',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M13 9.8A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.8',
  select: 'M2.5 2.5h11v11h-11zM5 8.2l2.2 2.2L11 6',
  question: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M6.2 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.7-.8 1.3M8 11.3v.1',
  hourglass: 'M4 2h8M4 14h8M4.8 2c0 3.4 3.2 4 3.2 6s-3.2 2.6-3.2 6M11.2 2c0 3.4-3.2 4-3.2 6s3.2 2.6 3.2 6',
  function: 'M11.5 2.8c-2-.8-3.2.2-3.6 2.2L6.3 12c-.4 1.6-1.5 2.2-3 1.5M5.2 6.5h5',
  queue: 'M2 4.5h12v7H2zM6 4.5v7M10 4.5v7',
  gauge: 'M2.6 12A6 6 0 1 1 13.4 12M8 9.6l2.6-3.4M8 9.6h.01',
  schedule: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 5v3l2 2',
  topic: 'M3 6.5h2.5L10 3v10L5.5 9.5H3zM12.2 6a3 3 0 0 1 0 4',
  table: 'M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 6.3V13',
  bucket: 'M2.5 4c0-1 2.5-1.7 5.5-1.7S13.5 3 13.5 4 11 5.7 8 5.7 2.5 5 2.5 4M2.5 4l1.4 8.5c.2.7 2 1.2 4.1 1.2s3.9-.5 4.1-1.2L13.5 4',
  job: 'M2.5 3.5h11v9h-11zM5 6.5l2 1.7-2 1.7M8.5 10h2.5',
  api: 'M5.5 3.5 1.8 8l3.7 4.5M10.5 3.5 14.2 8l-3.7 4.5M9 3.5 7 12.5',
  stack: 'M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3',
  pulse: 'M1.5 8h3l2-5 3 10 2-5h3',
  flow: 'M2 3h4v4H2zM10 9h4v4h-4zM6 5h3.5c1 0 1.5.5 1.5 1.5V9',
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
