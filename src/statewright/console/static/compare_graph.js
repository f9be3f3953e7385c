// The graph of two runs: states and transitions that only one of them has, in two tints.

import { html, useEffect, useRef, useState } from './vendor.js';
import { Mark, show } from './graph.js';
import { side } from './compare_words.js';

const ZOOM = 0.8;
const WORDS = { both: 'in both', a: 'only in A', b: 'only in B', none: 'not reached' };

/** @param {any} props */
export function TintedGraph({ found, icons, selected, onSelect }) {
  const [of, setOf] = useState(0);
  const drawing = found.drawings[Math.min(of, found.drawings.length - 1)];
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const shape = [...drawing.states, ...drawing.boxes].find((/** @type {any} */ one) => one.name === selected);
    if (shape) show(box.current, shape.badge[0] * ZOOM, shape.badge[1] * ZOOM);
  }, [drawing, selected]);
  const inA = new Set(found.reached.a);
  const inB = new Set(found.reached.b);
  const node = (/** @type {any} */ shape) => html`<${Node} key=${shape.name} shape=${shape} where=${side(shape.name, inA, inB)} icons=${icons} isSelected=${shape.name === selected} onSelect=${onSelect} />`;
  return html`<section class="graph card tinted" aria-label="Graph of both"><div class="canvas" ref=${box}><svg width=${drawing.width * ZOOM} height=${drawing.height * ZOOM} viewBox=${`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="States">
      ${drawing.boxes.map(node)}
      ${drawing.edges.map((/** @type {any} */ edge) => html`<g><path class=${edge.kind === 'catch' ? 'edge catch' : 'edge'} d=${edge.line} />${edge.arrow ? html`<path class=${edge.kind === 'catch' ? 'arrow catch' : 'arrow'} d=${edge.arrow} />` : null}</g>`)}
      ${drawing.marks.map((/** @type {any} */ mark) => html`<${Mark} mark=${mark} />`)}
      ${drawing.states.map(node)}</svg></div>
    <p class="legend"><span class="key a">only in A</span><span class="key b">only in B</span><span class="key both">in both</span>
      ${found.drawings.length > 1 ? html`<span class="tabs pill" role="group" aria-label="Definition">${['A', 'B'].map((name, place) => html`<button aria-pressed=${of === place} onClick=${() => setOf(place)}>graph of ${name}</button>`)}</span>` : null}</p></section>`;
}

/** @param {any} props */
function Node({ shape, where, icons, isSelected, onSelect }) {
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    onSelect(shape.name);
  };
  const outline = (/** @type {string} */ look, /** @type {number} */ more = 0) => (typeof shape.outline === 'string' ? html`<path class=${look} d=${shape.outline} />` : rect(shape.outline, look, more));
  return html`<g class=${`node in-${where}${isSelected ? ' selected' : ''}${where === 'none' ? ' unreached' : ''}${shape.panels.length ? ' box' : ''}`} role="button" tabindex="0" aria-pressed=${isSelected}
    aria-label=${`${shape.name}, ${shape.kind}, ${WORDS[/** @type {'both'} */ (where)]}`} data-state=${shape.name} onClick=${() => onSelect(shape.name)} onKeyDown=${press}>
    <title>${shape.name}</title>${isSelected ? outline('ring', 3) : null}${shape.sheets.map((/** @type {any} */ sheet) => rect(sheet, 'frame'))}${outline('frame')}${shape.panels.map((/** @type {any} */ panel) => rect(panel, 'panel'))}${rect(shape.tile, 'tile')}
    ${icons ? html`<path class="glyph" transform=${`translate(${shape.icon[0]} ${shape.icon[1]})`} d=${icons.services[shape.service] ?? icons.kinds[shape.kind]} />` : null}
    ${shape.names.map((/** @type {any} */ [line, x, y]) => html`<text class="name" x=${x} y=${y}>${line}</text>`)}
    <text class="second" x=${shape.second[1]} y=${shape.second[2]}>${WORDS[/** @type {'both'} */ (where)]}</text></g>`;
}

/** @param {number[]} shape @param {string} look @param {number} [more] */
function rect([x, y, width, height, radius], look, more = 0) {
  return html`<rect class=${look} x=${x - more} y=${y - more} width=${width + 2 * more} height=${height + 2 * more} rx=${radius + more} />`;
}
