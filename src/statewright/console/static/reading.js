// A read of the server as a part of the page: its document, what went wrong, and reading it again.

import { useEffect, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { connection, watch } from './live.js';

/**
 * Reads when the page opens and whenever name or query change; with `every`, again and again while the page is visible;
 * with `live`, whenever that subject of the stream changes. The last document stays while a later read fails. A name of
 * null reads nothing.
 * @param {string | null} name @param {import('./api.js').Query} [query] @param {{every?: number, live?: string | null}} [options]  in milliseconds
 * @returns {{found: any, problem: Error | null, again: () => void}}
 */
export function useRead(name, query = {}, { every = 0, live = null } = {}) {
  const key = name === null ? '' : `${name} ${JSON.stringify(query)}`;
  const [held, setHeld] = useState(/** @type {any} */ ({ key: '', found: null, problem: null }));
  const turn = useRef(/** @type {() => void} */ (() => {}));
  useEffect(() => {
    if (name === null) return undefined;
    const stop = new AbortController();
    let timer = 0;
    let isReading = false;
    let isStale = false;
    const look = async () => {
      clearTimeout(timer);
      isReading = true;
      isStale = false;
      try {
        const found = await read(name, query, stop.signal);
        if (!stop.signal.aborted) setHeld({ key, found, problem: null });
      } catch (problem) {
        if (!stop.signal.aborted) setHeld((/** @type {any} */ before) => ({ key, found: before.key === key ? before.found : null, problem }));
      }
      isReading = false;
      if (stop.signal.aborted) return;
      if (isStale) look();
      else if (every) timer = setTimeout(() => (document.hidden ? undefined : look()), every);
    };
    // What changes while a read is under way is read after it.
    const changed = () => {
      if (isReading) isStale = true;
      else look();
    };
    const seen = () => {
      if (every && !document.hidden) look();
    };
    turn.current = look;
    look();
    const leave = live ? watch(live, changed) : () => {};
    document.addEventListener('visibilitychange', seen);
    return () => {
      leave();
      clearTimeout(timer);
      stop.abort();
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, every, live]);
  const isCurrent = held.key === key;
  const { isOpen } = connection.value;
  useEffect(() => {
    if (isOpen && isCurrent && held.problem?.code === 'Unreachable') turn.current();
  }, [isOpen]);
  return { found: isCurrent ? held.found : null, problem: isCurrent ? held.problem : null, again: () => turn.current() };
}
