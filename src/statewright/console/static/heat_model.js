// Figures of a machine's states on its graph: which of them, how strong a colour, how wide a line. Pure.

import { count, duration } from './format.js';

/**
 * @typedef {{name: string, type: string, visits: number, p50: number | null, p95: number | null, totalMs: number, failed: number,
 *   caught: number, retries: number, errors: {error: string, count: number}[], usd: number, isDrawn: boolean,
 *   slowest: {arn: string, visit: number, tookMs: number, atMs: number}[]}} Figures
 * @typedef {{key: string, words: string, hue: 'time' | 'fail' | 'count', of: (state: Figures) => number | null, say: (value: number) => string}} Metric
 * @typedef {{level: number, words: string}} Look
 */

/** Amounts down to a millionth of a cent. @param {number} usd @returns {string} $12.30, $0.025, 0.4 ct, 0.000025 ct */
export function money(usd) {
  if (usd === 0) return '$0';
  if (usd >= 1) return `$${usd.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  if (usd >= 0.01) return `$${Number(usd.toPrecision(2))}`;
  const cents = usd * 100;
  if (cents < 1e-6) return 'below 0.000001 ct';
  return `${cents.toLocaleString('en-GB', { maximumSignificantDigits: 2, maximumFractionDigits: 20 })} ct`;
}

/** @param {number} part @returns {string} a share: 0 %, below 0.1 %, 3.2 %, 18 % */
export function percent(part) {
  if (part === 0) return '0 %';
  if (part < 0.001) return 'below 0.1 %';
  return `${Number((part * 100).toFixed(part < 0.1 ? 1 : 0))} %`;
}

/** What can be shown on the graph. A metric of null is not known. @type {Metric[]} */
export const METRICS = [
  { key: 'p95', words: 'p95', hue: 'time', of: (state) => state.p95, say: duration },
  { key: 'p50', words: 'p50', hue: 'time', of: (state) => state.p50, say: duration },
  { key: 'total', words: 'Time in all', hue: 'time', of: (state) => state.totalMs, say: duration },
  { key: 'failures', words: 'Failures', hue: 'fail', of: (state) => (state.visits ? (state.failed + state.caught) / state.visits : null), say: percent },
  { key: 'retries', words: 'Retries', hue: 'fail', of: (state) => state.retries, say: count },
  { key: 'cost', words: 'Cost', hue: 'count', of: (state) => state.usd, say: money },
  { key: 'visits', words: 'Visits', hue: 'count', of: (state) => state.visits, say: count },
];

/** @param {string | undefined} key */
export function metricOf(key) {
  return METRICS.find((one) => one.key === key) ?? METRICS[0];
}

export const LEVELS = 5;

/**
 * The strength of a value beside the greatest: 0 for nothing, then 1 to 5. Roots, since durations and counts lie decades apart.
 * @param {number | null} value @param {number} most
 */
export function levelOf(value, most) {
  if (!value || value < 0 || most <= 0) return 0;
  return Math.max(1, Math.min(LEVELS, Math.ceil(Math.sqrt(value / most) * LEVELS - 1e-9)));
}

/** How every state looks. @param {Figures[]} states @param {Metric} metric @returns {Map<string, Look>} */
export function looksOf(states, metric) {
  const most = Math.max(0, ...states.map((state) => metric.of(state) ?? 0));
  return new Map(states.map((state) => {
    const value = metric.of(state);
    return [state.name, { level: levelOf(value, most), words: value === null ? 'not over yet' : metric.say(value) }];
  }));
}

/** How wide every transition is drawn. @param {{source: string, target: string, count: number}[]} edges @returns {Map<string, {level: number, count: number}>} */
export function widthsOf(edges) {
  const most = Math.max(0, ...edges.map((edge) => edge.count));
  return new Map(edges.map((edge) => [`${edge.source}\n${edge.target}`, { level: levelOf(edge.count, most), count: edge.count }]));
}
