// An execution while its page is open: read once, then added to as the stream tells, and growing with the clock.

import { useEffect, useMemo, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { connection, noteServerTime, rewatch, serverNow, watch } from './live.js';
import { grown, makeRun, merged } from './model.js';

/**
 * @typedef {{run: import('./model.js').Run | null, queue: any[], last: number, gone: string | null, lost: number,
 *   aways: {fromMs: number, toMs: number}[], since: number, shownMs: number}} Held
 *   `queue` has deltas that are not shown, `last` is the last event that was received, `lost` how many events a server that
 *   came back does not have.
 */

/** @returns {Held} */
const nothing = () => ({ run: null, queue: [], last: 0, gone: null, lost: 0, aways: [], since: 0, shownMs: 0 });

/**
 * Reads an execution and follows it. While the page does not follow, what comes is only counted.
 * @param {string} arn @param {boolean} isFollowing
 */
export function useRun(arn, isFollowing) {
  const held = useRef(nothing());
  const [, setTurn] = useState(0);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const follows = useRef(isFollowing);
  follows.current = isFollowing;
  const shows = () => setTurn((/** @type {number} */ turn) => turn + 1);

  const { load, leave } = useMemo(() => {
    /** @type {() => void} */
    let unwatch = () => {};
    let isOver = false;
    let isDue = false;
    let isReading = false;
    let isStale = false;
    held.current = nothing();
    const show = () => {
      isDue = false;
      if (isOver) return;
      if (follows.current) take(held.current, again);
      shows();
    };
    const listener = (/** @type {any} */ line) => {
      if (!received(held.current, line)) {
        if (!isReading) again();
        return;
      }
      if (isDue) return;
      isDue = true;
      if (document.hidden) queueMicrotask(show);
      else requestAnimationFrame(show);
    };
    const again = () => {
      // What changed since a read began may not be in its answer.
      isStale = isReading;
      if (isReading) return;
      isReading = true;
      const { last: known } = held.current;
      read('run', { arn }).then((/** @type {any} */ document) => {
        if (isOver) return;
        noteServerTime(document.nowMs);
        const { aways, since } = held.current;
        const run = makeRun(document);
        held.current = { ...nothing(), run, last: run.length, lost: Math.max(0, known - run.length), aways, since: since || serverNow(), shownMs: serverNow() };
        setProblem(null);
        unwatch();
        unwatch = watch(`run:${arn}`, listener, () => held.current.last);
        rewatch();
        shows();
      }).catch((/** @type {any} */ failure) => (isOver ? undefined : setProblem(failure))).finally(() => {
        isReading = false;
        if (isStale && !isOver) again();
      });
    };
    return {
      load: again,
      leave: () => {
        isOver = true;
        unwatch();
      },
    };
  }, [arn]);
  useEffect(() => {
    load();
    return leave;
  }, [arn]);
  if (isFollowing && held.current.queue.length) take(held.current, load);

  const { isOpen, away } = connection.value;
  useEffect(() => {
    if (isOpen && problem) load();
  }, [isOpen]);
  useEffect(() => {
    const { since, aways } = held.current;
    if (!away || away.fromMs < since || !since || aways.some((one) => one.toMs === away.toMs)) return;
    held.current.aways = [...aways, away];
    shows();
  }, [away]);

  const { run, queue, gone, lost, aways, last } = held.current;
  const head = queue.length ? queue[queue.length - 1].head : run?.head;
  const isRunning = head !== undefined && head.endedMs === null && !gone;
  useTicks(isFollowing && isRunning && isOpen, run ? serverNow() - run.head.startedMs : 0, shows);
  // Where it does not follow, time stands still at the last moment that it showed.
  if (isFollowing && isOpen) held.current.shownMs = serverNow();
  const shown = run && grown(run, held.current.shownMs);
  return { run: shown, head, isRunning, news: run ? last - run.length : 0, gone, lost, aways, problem, load };
}

/** Takes a line of the stream; false if the whole run must be read instead. @param {Held} held @param {any} line */
function received(held, line) {
  if (line.gone !== undefined) {
    held.gone = line.gone;
    return true;
  }
  if (line.reset || line.from > held.last) return false;
  if (line.from < held.last) return true; // The same again, of a stream that was given up.
  noteServerTime(line.nowMs);
  held.queue.push(line);
  held.last = line.to;
  return true;
}

/** Adds what waits to the run. @param {Held} held @param {() => void} again */
function take(held, again) {
  if (!held.run) return;
  const { queue } = held;
  held.queue = [];
  try {
    for (const delta of queue) held.run = merged(held.run, delta);
  } catch (problem) {
    console.warn(problem);
    again();
  }
}

/** Shows a run anew as time goes on, the more seldom the longer it has lasted. @param {boolean} isOn @param {number} lastedMs @param {() => void} show */
function useTicks(isOn, lastedMs, show) {
  const every = lastedMs < 60000 ? 200 : lastedMs < 3600000 ? 1000 : 5000;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => (document.hidden ? undefined : show()), every);
    return () => clearInterval(timer);
  }, [isOn, every]);
}
