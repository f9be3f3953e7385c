// A call of an operation that reads, as a part of the page.

import { useEffect, useRef, useState } from './vendor.js';
import { call } from './api.js';

/**
 * Calls when the page opens and whenever the request changes; with `every`, again and again while the page is visible.
 * With `keep`, the last answer stays until the next one comes, whatever its request was. An operation of null calls
 * nothing.
 * @param {string} service @param {string | null} operation @param {Record<string, unknown>} request
 * @param {{every?: number, keep?: boolean}} [options]  `every` in milliseconds
 * @returns {{found: any, problem: Error | null, isBusy: boolean, again: () => void}}  `isBusy` until the request is answered
 */
export function useCall(service, operation, request, { every = 0, keep = false } = {}) {
  const key = operation === null ? '' : JSON.stringify([service, operation, request]);
  const [held, setHeld] = useState(/** @type {any} */ ({ key: '', found: null, problem: null }));
  const turn = useRef(/** @type {() => void} */ (() => {}));
  useEffect(() => {
    if (operation === null) return undefined;
    const stop = new AbortController();
    let timer = 0;
    const look = async () => {
      clearTimeout(timer);
      try {
        const found = await call(service, operation, request, stop.signal);
        if (!stop.signal.aborted) setHeld({ key, found, problem: null });
      } catch (problem) {
        if (!stop.signal.aborted) setHeld((/** @type {any} */ before) => ({ key, found: before.key === key ? before.found : null, problem }));
      }
      if (every && !stop.signal.aborted) timer = setTimeout(() => (document.hidden ? undefined : look()), every);
    };
    const seen = () => {
      if (every && !document.hidden) look();
    };
    turn.current = look;
    look();
    document.addEventListener('visibilitychange', seen);
    return () => {
      clearTimeout(timer);
      stop.abort();
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, every]);
  const isCurrent = held.key === key;
  return {
    found: operation !== null && (isCurrent || keep) ? held.found : null, problem: isCurrent ? held.problem : null,
    isBusy: !isCurrent, again: () => turn.current(),
  };
}
