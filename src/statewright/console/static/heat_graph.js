// A machine's graph with a figure on each state: how strong its colour is, in words, and the number itself.

import { html, useLayoutEffect, useRef, useState } from './vendor.js';
import { Icon } from './icons.js';

const CHARACTER = 5.7;
const STEP = 1.25;
/** The figures can be read from this size on. */
const READABLE = 0.6;

/**
 * @param {{drawing: any, looks: Map<string, import('./heat_model.js').Look>, widths: Map<string, {level: number, count: number}>, hue: string,
 *   icons: any, selected: string, none?: string, onSelect: (name: string) => void}} props
 */
export function FigureGraph({ drawing, looks, widths, hue, icons, selected, none = 'not visited', onSelect }) {
  const box = useRef(/** @type {any} */ (null));
  const [zoom, setZoom] = useState(0.8);
  const fit = (/** @type {number} */ least) => {
    const { clientWidth, clientHeight } = box.current;
    setZoom(Math.max(least, Math.min((clientWidth - 20) / drawing.width, (clientHeight - 20) / drawing.height, 1)));
  };
  useLayoutEffect(() => fit(READABLE), [drawing]);
  const node = (/** @type {any} */ shape) => html`<${Node} key=${shape.name} shape=${shape} look=${looks.get(shape.name)} icons=${icons} none=${none} isSelected=${shape.name === selected} onSelect=${onSelect} />`;
  return html`<section class=${`figures card hue-${hue}`} aria-label="Graph"><div class="canvas" ref=${box}>
    <svg width=${drawing.width * zoom} height=${drawing.height * zoom} viewBox=${`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="States">
      ${drawing.boxes.map(node)}
      ${drawing.edges.map((/** @type {any} */ edge) => html`<${Edge} edge=${edge} width=${widths.get(`${edge.source}\n${edge.target}`)} />`)}
      ${drawing.marks.map((/** @type {any} */ mark) => html`<g>${mark.stub ? html`<path class="edge" d=${mark.stub} />` : null}<circle class="mark" cx=${mark.x} cy=${mark.y} r="4.5" /></g>`)}
      ${drawing.states.map(node)}
      ${drawing.labels.map((/** @type {any} */ label) => html`<g class="label"><title>${label.labels.join('\n')}</title>${rect(label.outline, 'pill')}${label.lines.map((/** @type {any} */ [words, x, y]) => html`<text text-anchor="middle" x=${x} y=${y}>${words}</text>`)}</g>`)}
    </svg></div>
    <div class="zoom"><button aria-label="Smaller" onClick=${() => setZoom(Math.max(0.2, zoom / STEP))}><${Icon} name="minus" /></button><span>${Math.round(zoom * 100)} %</span>
      <button aria-label="Larger" onClick=${() => setZoom(Math.min(2, zoom * STEP))}><${Icon} name="plus" /></button><button aria-label="Fit" onClick=${() => fit(0.2)}><${Icon} name="fit" /></button></div></section>`;
}

/** @param {any} props */
function Edge({ edge, width }) {
  const level = width?.level ?? 0;
  return html`<g class=${`w${level}`}>${width ? html`<title>${`${edge.source} to ${edge.target}: ${width.count.toLocaleString('en-GB')} times`}</title>` : null}
    <path class="edge" d=${level ? edge.whole : edge.line} />${level || edge.arrow ? html`<path class="arrow" d=${level ? edge.wholeArrow : edge.arrow} />` : null}</g>`;
}

/** @param {any} props */
function Node({ shape, look, icons, none, isSelected, onSelect }) {
  const choose = () => onSelect(shape.name);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose();
  };
  const words = look?.words ?? none;
  const most = Math.floor(shape.room / CHARACTER);
  return html`<g class=${`node h${look?.level ?? 0}${shape.panels.length ? ' box' : ''}${isSelected ? ' selected' : ''}${look ? '' : ' unvisited'}`} role="button" tabindex="0" aria-pressed=${isSelected}
    aria-label=${`${shape.name}, ${shape.kind}, ${words}`} data-state=${shape.name} onClick=${choose} onKeyDown=${press}>
    <title>${`${shape.name} (${shape.kind})\n${words}`}</title>
    ${isSelected ? outline(shape.outline, 'ring', 3) : null}${shape.sheets.map((/** @type {any} */ sheet) => rect(sheet, 'frame'))}${outline(shape.outline, 'frame')}
    ${shape.panels.map((/** @type {any} */ panel) => rect(panel, 'panel'))}
    ${icons ? html`<path class="glyph" transform=${`translate(${shape.icon[0]} ${shape.icon[1]})`} d=${icons.services[shape.service] ?? icons.kinds[shape.kind]} />` : null}
    ${shape.names.map((/** @type {any} */ [line, x, y]) => html`<text class="name" x=${x} y=${y}>${line}</text>`)}
    <text class="second" x=${shape.second[1]} y=${shape.second[2]}>${words.length > most ? `${words.slice(0, Math.max(1, most - 1))}…` : words}</text></g>`;
}

/** @param {any} shape @param {string} look @param {number} [more] */
function rect([x, y, width, height, radius], look, more = 0) {
  return html`<rect class=${look} x=${x - more} y=${y - more} width=${width + 2 * more} height=${height + 2 * more} rx=${radius + more} />`;
}

/** @param {any} shape @param {string} look @param {number} [more] */
function outline(shape, look, more = 0) {
  return typeof shape === 'string' ? html`<path class=${look} d=${shape} />` : rect(shape, look, more);
}
