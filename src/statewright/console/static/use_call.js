// A call of an operation that reads, as a part of the page.

import { useEffect, useRef, useState } from './vendor.js';
import { call } from './api.js';

/**
 * Calls when the page opens and whenever the request changes; with `every`, again and again while the page is visible.
 * The last answer stays while another one is on its way. An operation of null calls nothing.
 * @param {string} service @param {string | null} operation @param {Record<string, unknown>} request @param {number} [every]  in milliseconds
 * @returns {{found: any, problem: Error | null, isBusy: boolean, again: () => void}}
 */
export function useCall(service, operation, request, every = 0) {
  const key = operation === null ? '' : `${service} ${operation} ${JSON.stringify(request)}`;
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
  return { found: operation === null ? null : held.found, problem: held.key === key ? held.problem : null, isBusy: held.key !== key, again: () => turn.current() };
}
