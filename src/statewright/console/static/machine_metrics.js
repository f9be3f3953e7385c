// Charts of a state machine over 24 hours, from the service's metrics.

import { html, useEffect, useState } from './vendor.js';
import { call } from './api.js';
import { TimeChart } from './charts.js';
import { duration } from './format.js';
import { Problem } from './parts.js';

const DAY_MS = 86_400_000;
const PERIOD_SECONDS = 300;

/** @type {[string, string, string, string][]} id, metric, words, tone */
const COUNTS = [
  ['started', 'ExecutionsStarted', 'started', 'run'], ['succeeded', 'ExecutionsSucceeded', 'succeeded', 'ok'], ['failed', 'ExecutionsFailed', 'failed', 'fail'],
  ['timedout', 'ExecutionsTimedOut', 'timed out', 'wait'], ['aborted', 'ExecutionsAborted', 'aborted', 'idle'], ['throttled', 'ExecutionThrottled', 'throttled', 'caught'],
];
/** @type {[string, string, string, string][]} id, statistic, words, tone */
const TIMES = [['p50', 'p50', 'median', 'accent'], ['p95', 'p95', 'p95', 'wait'], ['longest', 'Maximum', 'longest', 'fail']];

/** @param {string} machine */
export function queriesOf(machine) {
  const query = (/** @type {string} */ id, /** @type {string} */ metric, /** @type {string} */ stat) => ({
    Id: id, MetricStat: { Metric: { Namespace: 'AWS/States', MetricName: metric, Dimensions: [{ Name: 'StateMachineArn', Value: machine }] }, Period: PERIOD_SECONDS, Stat: stat },
  });
  return [...COUNTS.map(([id, metric]) => query(id, metric, 'Sum')), ...TIMES.map(([id, stat]) => query(id, 'ExecutionTime', stat))];
}

/** Points of a result, in the order of time. @param {any} found @param {string} id @returns {[number, number][]} */
export function pointsOf(found, id) {
  const one = (found.MetricDataResults ?? []).find((/** @type {any} */ result) => result.Id === id);
  if (!one) return [];
  return one.Timestamps.map((/** @type {number} */ at, /** @type {number} */ place) => /** @type {[number, number]} */ ([at, one.Values[place]])).sort((/** @type {number[]} */ a, /** @type {number[]} */ b) => a[0] - b[0]);
}

/** Counts in every period; nothing recorded is none. @param {[number, number][]} points @param {number} from @param {number} to @returns {[number, number][]} */
export function everyPeriod(points, from, to) {
  const period = PERIOD_SECONDS * 1000;
  const counts = new Map(points.map(([at, value]) => [Math.floor(at / period), value]));
  const found = [];
  for (let place = Math.floor(from / period); place * period < to; place += 1) found.push(/** @type {[number, number]} */ ([place * period, counts.get(place) ?? 0]));
  return found;
}

/** Values that hold for their period, so that one alone is a line, too. @param {[number, number][]} points @returns {[number, number][]} */
export function heldFor(points) {
  return points.flatMap(([at, value]) => [/** @type {[number, number]} */ ([at, value]), /** @type {[number, number]} */ ([at + PERIOD_SECONDS * 1000, value])]);
}

/** @param {import('./machine.js').TabProps} props */
export function Metrics({ machine }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const load = async () => {
    const to = Math.ceil(Date.now() / (PERIOD_SECONDS * 1000)) * PERIOD_SECONDS * 1000;
    const from = to - DAY_MS;
    try {
      const answer = await call('monitoring', 'GetMetricData', { MetricDataQueries: queriesOf(machine), StartTime: from / 1000, EndTime: to / 1000 });
      setFound({ answer, from, to });
      setProblem(null);
    } catch (failure) {
      setProblem(/** @type {Error} */ (failure));
    }
  };
  useEffect(() => {
    load();
  }, [machine]);
  if (problem) return html`<${Problem} problem=${problem} again=${load} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const { answer, from, to } = found;
  const series = (/** @type {[string, string, string, string][]} */ all, /** @type {(points: [number, number][]) => [number, number][]} */ dressed) => all
    .map(([id, , words, tone]) => ({ name: words, tone, points: pointsOf(answer, id) })).filter((one) => one.points.some(([, value]) => value > 0))
    .map((one) => ({ ...one, points: dressed(one.points) }));
  const counts = series(COUNTS, (points) => everyPeriod(points, from, to));
  return html`<div class="wb-charts"><section class="card"><${TimeChart} title="Executions, by 5 minutes" series=${counts} from=${from} to=${to} none="Nothing was started in the last 24 hours." /></section>
    <section class="card"><${TimeChart} title="How long they took" series=${series(TIMES, heldFor)} from=${from} to=${to} unit=${duration} none="No execution ended in the last 24 hours." /></section></div>`;
}
