// Reads that wait until the user has signed in.

import { effect } from './vendor.js';
import { signedOut } from './api.js';

/** Resolves once this tab is signed in. @param {AbortSignal | null} [stop] @returns {Promise<void>} */
export function signedIn(stop) {
  return new Promise((resolve, reject) => {
    const watch = effect(() => {
      if (signedOut.value !== null) return;
      resolve();
      queueMicrotask(() => watch());
    });
    const leave = () => {
      watch();
      reject(stop?.reason);
    };
    if (stop?.aborted) leave();
    else stop?.addEventListener('abort', leave, { once: true });
  });
}
