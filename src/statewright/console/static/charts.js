// Curves over time, drawn from a simulation's document: one chart for each of its `charts`, with a second result beside it.

import { html } from './vendor.js';
import { scaled, seconds, short, stepped } from './chart_model.js';

const WIDTH = 560;
const HEIGHT = 200;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 24];
const MOST_ROWS = 60;

/**
 * One chart. `other` is the same chart of another result, whose lines are dashed.
 * @param {{chart: any, end: number, other?: any, otherEnd?: number}} props
 */
export function Chart({ chart, end, other = null, otherEnd = 0 }) {
  const lines = [...chart.lines.map((/** @type {any} */ line) => ({ ...line, look: '' })), ...(other?.lines ?? []).map((/** @type {any} */ line) => ({ ...line, look: ' other' }))];
  const scale = scaled(lines, Math.max(end, otherEnd), chart.limit, { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM });
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return html`<figure class="card chart"><figcaption><h3>${chart.title}</h3><span class="faint">${chart.unit}</span></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${chart.title}, ${chart.unit}; the numbers stand in the table below`}>
      ${ticks.map((part) => html`<g key=${part}><path class="grid" d=${`M${LEFT} ${scale.y(scale.most * part).toFixed(1)}H${WIDTH - RIGHT}`} /><text class="tick" text-anchor="end" x=${LEFT - 6} y=${scale.y(scale.most * part) + 4}>${short(scale.most * part)}</text>
        <text class="tick" text-anchor=${part === 1 ? 'end' : part ? 'middle' : 'start'} x=${scale.x(scale.end * part)} y=${HEIGHT - 6}>${seconds(scale.end * part)}</text></g>`)}
      ${scale.limit === null ? null : html`<g><path class="limit" d=${`M${LEFT} ${scale.y(scale.limit).toFixed(1)}H${WIDTH - RIGHT}`} /><text class="limit-text" x=${LEFT + 6} y=${scale.y(scale.limit) + 12}>limit ${short(scale.limit)}</text></g>`}
      ${lines.map((line) => html`<path class=${`line ${line.tone}${line.look}`} d=${stepped(line.points, scale, chart.steps)} />`)}
    </svg>
    <p class="legend">${lines.filter((line) => line.name).map((line) => html`<span><svg width="18" height="8" aria-hidden="true"><path class=${`line ${line.tone}${line.look}`} d="M0 4H18" /></svg> <bdi>${line.name}</bdi>${line.look ? ' (the other)' : ''}</span>`)}${chart.limit !== undefined && scale.limit === null ? html`<span>the limit is ${short(chart.limit)}</span>` : null}</p>
    <details><summary>Numbers</summary><div class="scroll"><table class="list"><thead><tr><th class="end">At</th>${lines.map((line) => html`<th class="end"><bdi>${line.name || chart.unit}</bdi>${line.look ? ' (the other)' : ''}</th>`)}</tr></thead>
      <tbody>${rows(lines).map(([at, values]) => html`<tr key=${at}><td class="end">${seconds(at)}</td>${values.map((value) => html`<td class="end">${value === null ? '' : short(value)}</td>`)}</tr>`)}</tbody></table></div></details></figure>`;
}

/** The values of all lines at some of their instants. @param {any[]} lines @returns {[number, (number | null)[]][]} */
function rows(lines) {
  const instants = [...new Set(lines.flatMap((line) => line.points.map((/** @type {number[]} */ point) => point[0])))].sort((one, other) => one - other);
  const every = Math.ceil(instants.length / MOST_ROWS) || 1;
  const maps = lines.map((line) => new Map(line.points));
  return instants.filter((_, place) => place % every === 0).map((at) => [at, maps.map((map) => map.get(at) ?? null)]);
}
