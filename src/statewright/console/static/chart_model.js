// Scales of charts: round numbers on the axes, paths of curves. Pure.

const STEPS = [1, 2, 2.5, 4, 5, 8, 10];

/** @typedef {{x: (at: number) => number, y: (value: number) => number, most: number, end: number, limit: number | null, bottom: number}} Scale */

/**
 * The scale of curves. A limit that is far away would flatten them, and is left out: null.
 * @param {{points: number[][]}[]} lines @param {number} end @param {number | undefined} limit @param {{left: number, right: number, top: number, bottom: number}} box @returns {Scale}
 */
export function scaled(lines, end, limit, box) {
  const highest = lines.reduce((most, line) => line.points.reduce((high, point) => Math.max(high, point[1]), most), 0);
  const shown = limit !== undefined && limit <= 4 * highest ? limit : null;
  const most = roundUp(Math.max(highest, shown ?? 0));
  const last = Math.max(end, 1);
  return {
    most, end: last, limit: shown, bottom: box.bottom,
    x: (at) => box.left + (Math.min(at, last) / last) * (box.right - box.left),
    y: (value) => box.bottom - (value / most) * (box.bottom - box.top),
  };
}

/** The next round number. @param {number} value */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  const step = STEPS.find((one) => one * size >= value * (1 - 1e-9)) ?? 10;
  return Number((step * size).toPrecision(6));
}

/** A curve as a path, in steps or straight. @param {number[][]} points @param {Scale} scale @param {boolean} isStepped */
export function stepped(points, scale, isStepped) {
  if (!points.length) return '';
  const parts = [`M${scale.x(points[0][0]).toFixed(1)} ${scale.y(points[0][1]).toFixed(1)}`];
  for (const [at, value] of points.slice(1)) {
    parts.push(isStepped ? `H${scale.x(at).toFixed(1)}V${scale.y(value).toFixed(1)}` : `L${scale.x(at).toFixed(1)} ${scale.y(value).toFixed(1)}`);
  }
  if (isStepped) parts.push(`H${scale.x(scale.end).toFixed(1)}`);
  return parts.join('');
}

/** @param {number} value @returns {string} 0, 0.25, 1,200, 15k, 2.5M */
export function short(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return Number(value.toPrecision(3)).toLocaleString('en-GB', { maximumFractionDigits: 6 });
}

/** A time on an axis. @param {number} value  in seconds @returns {string} 0, 40 s, 12 min, 3 h, 1.5 d */
export function seconds(value) {
  if (value === 0) return '0';
  for (const [size, unit] of /** @type {[number, string][]} */ ([[86400, 'd'], [3600, 'h'], [60, 'min']])) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return `${Number(value.toPrecision(3))} s`;
}

/** Facts of a result, as rows to compare. @param {any} result @returns {[string, string][]} */
export function factsOf(result) {
  /** @type {[string, string][]} */
  const facts = [['Virtual time', seconds(result.virtualSeconds)], ['Ended by', String(result.ended).split(':')[0]]];
  for (const row of result.outcomes) facts.push([`${row.what}: ${row.outcome}`, row.count.toLocaleString('en-GB')]);
  for (const one of result.functions) {
    facts.push([`${one.name}: calls`, one.invocations.toLocaleString('en-GB')], [`${one.name}: most at once`, `${one.mostAtOnce.toLocaleString('en-GB')} of ${one.limit.toLocaleString('en-GB')}`]);
    if (one.throttles) facts.push([`${one.name}: throttles`, one.throttles.toLocaleString('en-GB')]);
  }
  for (const one of result.executions) {
    if (one.averageSeconds !== null && one.averageSeconds !== undefined) facts.push([`${one.machine}: average`, seconds(one.averageSeconds)]);
  }
  facts.push(['Cost', `$${Number(result.cost.usd.toPrecision(3))}`]);
  return facts;
}
