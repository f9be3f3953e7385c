// In a file that holds a run, what live.js is elsewhere: time stands still, and nothing changes.

import { signal } from './vendor.js';
import { inside } from './offline_api.js';

export const connection = signal({ isOpen: true, away: null });

export function serverNow() {
  return inside.run.nowMs;
}

export function noteServerTime() {}

/** @returns {() => void} */
export function watch() {
  return () => {};
}

export function rewatch() {}

export function useLive() {}
