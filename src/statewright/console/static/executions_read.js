// Reading the list of executions: by the indexes, page by page, or as a search that says how far it has looked.

import { useEffect, useRef, useState } from './vendor.js';
import { read, readLines } from './api.js';
import { renewed } from './list_model.js';
import { useRead } from './reading.js';

/** @typedef {import('./list_model.js').Listed} Listed */
/** @typedef {{rows: Listed[] | null, next: string | null, isReading: boolean, problem: any, looked: number, lookedBackMs: number | null, nowMs: number, isSearch: boolean, isStopped: boolean, more: () => void, stop: () => void, again: () => void}} Found */

const EVERY_MS = 5_000;

/** The filters that no index answers. @param {Record<string, any>} query */
export function isSearch(query) {
  return Boolean(query.q || query.took || query.waiting);
}

/** @param {Record<string, string | undefined>} query @param {boolean} isPaused @returns {Found} */
export function useExecutions(query, isPaused) {
  const filters = filtersOf(query);
  const searched = isSearch(filters);
  const listed = useListed(searched ? null : filters, isPaused);
  const found = useSearch(searched ? filters : null);
  return searched ? found : listed;
}

/** The filters of an address as the server has them. @param {Record<string, string | undefined>} query */
export function filtersOf({ q, status, machine, within, since, until, took, waiting }) {
  return { q, status, machine, within, since, until, took, waiting };
}

/** @param {any} filters @param {boolean} isPaused @returns {Found} */
function useListed(filters, isPaused) {
  const key = JSON.stringify(filters);
  const first = useRead(filters ? 'executions' : null, filters ?? {}, /** @type {any} */ (isPaused ? {} : { every: EVERY_MS, live: 'list' }));
  const [held, setHeld] = useState({ key: '', isReading: false, problem: /** @type {any} */ (null) });
  const shown = useRef(/** @type {{key: string, page: any, rows: Listed[], next: string | null}} */ ({ key: '', page: null, rows: [], next: null }));
  const page = first.found;
  if (shown.current.key !== key) shown.current = { key, page: null, rows: [], next: null };
  if (page && shown.current.page !== page) shown.current = { key, page, ...renewed(shown.current, page) };
  const state = held.key === key ? held : { key, isReading: false, problem: null };
  const more = async () => {
    setHeld({ key, isReading: true, problem: null });
    try {
      const answer = await read('executions', { ...filters, cursor: shown.current.next, limit: 100 });
      if (shown.current.key === key) shown.current = { ...shown.current, rows: [...shown.current.rows, ...answer.executions], next: answer.next };
      setHeld({ key, isReading: false, problem: null });
    } catch (problem) {
      setHeld({ key, isReading: false, problem });
    }
  };
  return {
    rows: page ? shown.current.rows : null, next: shown.current.next, isReading: state.isReading, problem: first.problem ?? state.problem, looked: 0, lookedBackMs: null,
    nowMs: page?.nowMs ?? Date.now(), isSearch: false, isStopped: false, more, stop: () => {}, again: first.again,
  };
}

/** @param {any} filters @returns {Found} */
function useSearch(filters) {
  const key = JSON.stringify(filters);
  const none = { key, rows: /** @type {Listed[]} */ ([]), next: /** @type {string | null} */ (null), isReading: filters !== null, problem: /** @type {any} */ (null), looked: 0, lookedBackMs: /** @type {number | null} */ (null), nowMs: Date.now(), isStopped: false };
  const [held, setHeld] = useState(none);
  const state = held.key === key ? held : none;
  const current = useRef(new AbortController());
  const run = (/** @type {string | null} */ cursor, /** @type {typeof none} */ begin) => {
    current.current.abort();
    const stop = new AbortController();
    current.current = stop;
    const change = (/** @type {(before: typeof none) => any} */ by) => {
      if (!stop.signal.aborted) setHeld((/** @type {typeof none} */ before) => ({ ...(before.key === key ? before : begin), ...by(before.key === key ? before : begin) }));
    };
    setHeld({ ...begin, isReading: true, isStopped: false, problem: null });
    const lookedBefore = begin.looked;
    readLines('executions/search', { ...filters, cursor }, (line) => change((before) => ({
      rows: line.rows ? [...before.rows, ...line.rows] : before.rows,
      looked: line.looked === undefined ? before.looked : lookedBefore + line.looked,
      lookedBackMs: line.lookedBackMs === undefined ? before.lookedBackMs : line.lookedBackMs ?? before.lookedBackMs,
      next: line.next === undefined ? line.cursor ?? before.next : line.next,
      nowMs: line.nowMs ?? before.nowMs,
    })), stop.signal).then(() => change(() => ({ isReading: false })), (problem) => change(() => ({ isReading: false, problem })));
  };
  useEffect(() => {
    if (filters) run(null, none);
    return () => current.current.abort();
  }, [key]);
  const stop = () => {
    current.current.abort();
    setHeld((/** @type {typeof none} */ before) => ({ ...before, isReading: false, isStopped: true }));
  };
  return { ...state, isSearch: true, more: () => run(state.next, state), stop, again: () => run(null, none) };
}
