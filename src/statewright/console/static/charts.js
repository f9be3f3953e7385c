// Small charts: lines over time with a limit, sparks, capacity bars, split bars. Each of them says its data in words or
// in a table.

import { html, useState } from './vendor.js';
import { areaPath, dotsPath, HEIGHT, linePath, nearest, niceMax, parts, share, thinned, valueTicks, WIDTH, xOf, yOf } from './chart_scale.js';
import { count, iso } from './format.js';

const MOST_POINTS = 400;
const MOST_ROWS = 200;

/**
 * @typedef {{name: string, tone: string, points: import('./chart_scale.js').Point[], area?: boolean, dots?: boolean}} Series
 *   `tone` is one of ok, fail, run, wait, caught, idle, accent. With `dots`, nothing is drawn between the points.
 */

/**
 * Values over time. `limit` draws a line across; `steps`: a value holds until the next.
 * @param {{title: string, series: Series[], from: number, to: number, limit?: {value: number, name: string} | null,
 *   steps?: boolean, unit?: (value: number) => string, none?: string}} props
 */
export function TimeChart({ title, series, from, to, limit = null, steps = false, unit = count, none = 'Nothing was recorded in this time.' }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const shown = series.map((one) => ({ ...one, points: thinned(one.points, MOST_POINTS) }));
  const isEmpty = shown.every((one) => !one.points.length);
  const max = niceMax(Math.max(limit?.value ?? 0, ...shown.flatMap((one) => one.points.map(([, value]) => value))));
  const ticks = valueTicks(max);
  const over = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    setAt(from + (to - from) * share(event.clientX - box.left, box.width));
  };
  const noted = at === null ? null : shown.filter((one) => one.points.length).map((one) => ({ ...one, point: one.points[nearest(one.points, at)] }));
  return html`<figure class="chart"><figcaption><b>${title}</b>
      <span class="legend">${shown.map((one) => html`<span class=${`c-${one.tone}`}><i class=${`swatch k-${one.tone}`} aria-hidden="true"></i>${one.name}</span>`)}
        ${limit ? html`<span><i class="swatch k-limit" aria-hidden="true"></i>${limit.name} ${unit(limit.value)}</span>` : null}</span>
      <span class="noted">${noted?.length ? html`${clock(noted[0].point[0])}${noted.map((one) => html` <b class=${`c-${one.tone}`}>${unit(one.point[1])}</b>`)}` : null}</span></figcaption>
    ${isEmpty ? html`<p class="faint none">${none}</p>` : html`<div class="plot"><div class="ys" aria-hidden="true">${ticks.map((value) => html`<span>${unit(value)}</span>`)}</div>
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${said(title, shown, limit, unit)} onPointerMove=${over} onPointerLeave=${() => setAt(null)}>
        ${ticks.map((value) => html`<line class="rule" x1="0" x2=${WIDTH} y1=${yOf(value, max)} y2=${yOf(value, max)} />`)}
        ${shown.map((one) => html`<g class=${`s-${one.tone}`}>${one.area ? html`<path class="area" d=${areaPath(one.points, from, to, max, steps)} />` : null}${one.dots ? html`<path class="dots" d=${dotsPath(one.points, from, to, max)} />` : html`<path class="line" d=${linePath(one.points, from, to, max, steps)} />`}</g>`)}
        ${limit ? html`<line class="limit" x1="0" x2=${WIDTH} y1=${yOf(limit.value, max)} y2=${yOf(limit.value, max)} />` : null}
        ${noted?.length ? html`<line class="at" x1=${xOf(noted[0].point[0], from, to)} x2=${xOf(noted[0].point[0], from, to)} y1="0" y2=${HEIGHT} />` : null}</svg>
      <div class="xs" aria-hidden="true"><span>${clock(from)}</span><span>${clock((from + to) / 2)}</span><span>${clock(to)}</span></div></div>
      <${Data} title=${title} series=${shown} unit=${unit} />`}</figure>`;
}

/** The time of day in UTC. @param {number} ms */
function clock(ms) {
  return iso(ms).slice(11, 19);
}

/** @param {string} title @param {Series[]} series @param {any} limit @param {(value: number) => string} unit */
function said(title, series, limit, unit) {
  const peaks = series.filter((one) => one.points.length).map((one) => `${one.name} at most ${unit(Math.max(...one.points.map(([, value]) => value)))}`);
  return `${title}: ${[...peaks, ...(limit ? [`${limit.name} ${unit(limit.value)}`] : [])].join(', ')}. The table below has the values.`;
}

/** The values of a chart as a table, made when it is opened. @param {{title: string, series: Series[], unit: (value: number) => string}} props */
function Data({ title, series, unit }) {
  const [isOpen, setOpen] = useState(false);
  /** @type {Map<number, (number | null)[]>} */
  const rows = new Map();
  if (isOpen) {
    series.forEach((one, place) => one.points.forEach(([ms, value]) => {
      const row = rows.get(ms) ?? series.map(() => null);
      row[place] = value;
      rows.set(ms, row);
    }));
  }
  const sorted = [...rows].sort(([one], [other]) => one - other).slice(-MOST_ROWS);
  return html`<details class="data" onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}><summary>Values as a table</summary>
    ${isOpen ? html`<div class="scroll" tabindex="0" role="region" aria-label=${`Values of ${title}`}><table class="list"><thead><tr><th>Time (UTC)</th>${series.map((one) => html`<th class="end">${one.name}</th>`)}</tr></thead>
      <tbody>${sorted.map(([ms, values]) => html`<tr key=${ms}><td>${iso(ms)}</td>${values.map((value) => html`<td class="end">${value === null ? '' : unit(value)}</td>`)}</tr>`)}</tbody></table></div>` : null}</details>`;
}

/** A line without axes; `words` say what it shows. @param {{values: number[], words: string, tone?: string}} props */
export function Spark({ values, words, tone = 'accent' }) {
  const points = thinned(values.map((value, place) => [place, value]), 60);
  const max = Math.max(1, ...values);
  return html`<svg class=${`spark s-${tone}`} width="96" height="22" viewBox=${`0 -4 ${WIDTH} ${HEIGHT + 8}`} preserveAspectRatio="none" role="img" aria-label=${words}><title>${words}</title>
    ${values.some(Boolean) ? html`<path class="area" d=${areaPath(points, 0, values.length - 1, max)} /><path class="line" d=${linePath(points, 0, values.length - 1, max)} />`
      : html`<line class="rule" x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} />`}</svg>`;
}

/** How much of a limit is used; `words` stand beside the bar. @param {{used: number, limit: number | null, words: any, label: string}} props */
export function Capacity({ used, limit, words, label }) {
  const full = limit !== null && used >= limit;
  const width = limit === null ? 0 : 100 * share(used, limit);
  return html`<div class="capacity"><svg width="100%" height="8" role="img" aria-label=${label}><rect class="back" width="100%" height="8" rx="4" />${width ? html`<rect class=${full ? 'b-wait' : 'b-run'} width=${`${width}%`} height="8" rx="4" />` : null}</svg>
    <span>${words}</span></div>`;
}

/**
 * A bar split by numbers, with a legend that has each of them. `mark` is an instant of the bar, in share of its width.
 * @param {{items: {name: string, tone: string, n: number, href?: string | null}[], label: string, mark?: {at: number, words: string} | null}} props
 */
export function Split({ items, label, mark = null }) {
  const shares = parts(items.map((one) => one.n));
  let at = 0;
  return html`<div class="split"><svg width="100%" height="14" role="img" aria-label=${`${label}: ${items.filter((one) => one.n).map((one) => `${one.name} ${one.n}`).join(', ') || 'none'}`}>
      <rect class="back" width="100%" height="14" rx="4" />
      ${items.map((one, place) => {
        const from = at;
        at += shares[place];
        return shares[place] ? html`<rect class=${`b-${one.tone}`} x=${`${100 * from}%`} width=${`${100 * shares[place]}%`} height="14" />` : null;
      })}
      ${mark ? html`<rect class="mark" x=${`${100 * share(mark.at, 1)}%`} width="2" height="14"><title>${mark.words}</title></rect>` : null}</svg>
    <ul class="legend">${items.map((one) => html`<li class=${one.n ? '' : 'faint'}><i class=${`swatch k-${one.tone}`} aria-hidden="true"></i>${one.href ? html`<a href=${one.href}>${one.name}</a>` : one.name} <b>${count(one.n)}</b></li>`)}
      ${mark ? html`<li><i class="swatch k-mark" aria-hidden="true"></i>${mark.words}</li>` : null}</ul></div>`;
}
