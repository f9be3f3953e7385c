// A histogram of executions by time and outcome, and bars of a day by the hour.

import { html } from './vendor.js';
import { moment, plural } from './format.js';
import { barsOf, sum } from './list_model.js';

const HEIGHT = 48;

/** @param {{histogram: import('./list_model.js').Histogram | null, words?: string, now: number}} props  `words` say what was counted */
export function HistogramStrip({ histogram, words = '', now }) {
  if (!histogram) return html`<div class="histogram"></div>`;
  const { ok, failed, running, fromMs, toMs } = histogram;
  const said = `${plural(sum(ok) + sum(failed) + sum(running), 'execution')} from ${moment(fromMs, now)} to ${moment(toMs, now)}: ${sum(ok)} succeeded, ${sum(failed)} failed, ${sum(running)} running`;
  return html`<figure class="histogram" title=${said}><svg viewBox=${`0 0 ${ok.length * 10} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${said}>
    ${barsOf(histogram, HEIGHT).map((bar) => html`<rect class=${`h-${bar.tone}`} x=${bar.step * 10 + 0.5} y=${bar.y} width="9" height=${bar.height} />`)}</svg>
    <figcaption><span>${moment(fromMs, now)}</span><span>${words}</span><span>${moment(toMs, now)}</span></figcaption></figure>`;
}

/**
 * A day by the hour as bars: what started, and on top in red what failed. @param {{started: number[], failed: number[], height?: number, label: string}} props
 */
export function Spark({ started, failed, height = 22, label }) {
  const most = Math.max(1, ...started, ...failed);
  const tall = (/** @type {number} */ n) => (n ? Math.max(1.5, (n / most) * height) : 0);
  return html`<svg class="spark" viewBox=${`0 0 ${started.length * 4} ${height}`} width=${started.length * 4} height=${height} preserveAspectRatio="none" role="img" aria-label=${label}>
    <path class="h-line" d=${`M0 ${height - 0.5}H${started.length * 4}`} />${started.map((n, place) => html`${n ? html`<rect class="h-idle" x=${place * 4} y=${height - tall(n)} width="3" height=${tall(n)} />` : null}
    ${failed[place] ? html`<rect class="h-fail" x=${place * 4} y=${height - tall(failed[place])} width="3" height=${tall(failed[place])} />` : null}`)}</svg>`;
}
