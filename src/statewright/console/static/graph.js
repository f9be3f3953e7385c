// The machine's graph with the run at one moment. Every number comes from the server's display list.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor.js';
import { duration, plain, plural } from './format.js';
import { Icon, toneWords } from './icons.js';
import { lookAt, takenBy } from './model.js';

const CHARACTER = 5.7;
const ZOOMS = [0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6];

/**
 * `lookOf` gives the class of a state beside those of the run, and words for its label: of a difference, of heat.
 * @param {{run: any, at: number, selected: string, icons: any, onSelect: (name: string) => void, lookOf?: (name: string) => [string, string] | undefined}} props
 */
export function Graph({ run, at, selected, icons, onSelect, lookOf }) {
  const { drawing } = run;
  const box = useRef(/** @type {any} */ (null));
  const [zoom, setZoom] = useState(0);
  useLayoutEffect(() => {
    setZoom(fitting(box.current, drawing));
  }, [drawing]);
  useEffect(() => {
    const shape = [...drawing.states, ...drawing.boxes].find((/** @type {any} */ one) => one.name === selected);
    if (shape && zoom) show(box.current, shape.badge[0] * zoom, shape.badge[1] * zoom);
  }, [drawing, selected, zoom]);
  const looks = useMemo(() => new Map(run.states.map((/** @type {any} */ state) => [state.name, lookAt(state, at)])), [run.core, at]);
  const step = (/** @type {number} */ by) => {
    const next = by > 0 ? ZOOMS.find((one) => one > zoom + 0.01) : ZOOMS.findLast((one) => one < zoom - 0.01);
    if (next) setZoom(next);
  };
  const node = (/** @type {any} */ shape) => html`<${Node} key=${shape.name} shape=${shape} look=${looks.get(shape.name)} run=${run} at=${at}
    isSelected=${shape.name === selected} icons=${icons} onSelect=${onSelect} also=${lookOf?.(shape.name)} />`;
  const edges = [...drawing.edges].sort((one, other) => Number(other.kind === 'catch') - Number(one.kind === 'catch'));
  return html`<section class="graph card" aria-label="Graph"><div class="canvas" ref=${box}>
    <svg width=${drawing.width * zoom} height=${drawing.height * zoom} viewBox=${`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="States">
      ${drawing.boxes.map(node)}
      ${edges.map((edge) => html`<g><path class=${edge.kind === 'catch' ? 'edge catch' : 'edge'} d=${edge.line} />
        ${edge.arrow ? html`<path class=${edge.kind === 'catch' ? 'arrow catch' : 'arrow'} d=${edge.arrow} />` : null}</g>`)}
      ${edges.map((edge) => html`<${Taken} run=${run} edge=${edge} at=${at} looks=${looks} />`)}
      ${drawing.marks.map((/** @type {any} */ mark) => html`<${Mark} mark=${mark} />`)}
      ${drawing.states.map(node)}
      ${drawing.labels.map((/** @type {any} */ label) => html`<${Label} label=${label} times=${takenBy(run, label.source, label.target, at)} />`)}
    </svg></div>
    <div class="zoom"><button aria-label="Smaller" onClick=${() => step(-1)}><${Icon} name="minus" /></button><span>${Math.round(zoom * 100)} %</span>
      <button aria-label="Larger" onClick=${() => step(1)}><${Icon} name="plus" /></button>
      <button aria-label="Fit" onClick=${() => setZoom(fitting(box.current, drawing, true))}><${Icon} name="fit" /></button></div>
  </section>`;
}

const NEAR = 60;

/** Scrolls as far as needed to show a place. @param {any} box @param {number} x @param {number} y */
export function show(box, x, y) {
  if (y < box.scrollTop + NEAR || y > box.scrollTop + box.clientHeight - NEAR) box.scrollTop = y - box.clientHeight / 3;
  if (x < box.scrollLeft + NEAR || x > box.scrollLeft + box.clientWidth) box.scrollLeft = x - box.clientWidth / 2;
}

/** @param {any} box @param {any} drawing @param {boolean} [whole] */
function fitting(box, drawing, whole = false) {
  if (!box) return 0.8;
  const width = (box.clientWidth - 20) / drawing.width;
  const height = (box.clientHeight - 20) / drawing.height;
  return whole ? Math.max(0.1, Math.min(width, height, 1)) : Math.max(0.55, Math.min(width, 0.9));
}

/** @param {any} props */
function Node({ shape, look, run, at, isSelected, icons, onSelect, also }) {
  // While none of its visits goes on, a state looks the same at every event.
  const running = look?.running > 0;
  return useMemo(() => drawn({ shape, look, run, at, isSelected, icons, onSelect, also }),
    [shape, isSelected, icons, onSelect, also?.join(), look?.tone, look?.begun, look?.done, look?.visit?.next, look?.visit?.attempts.length, running ? at : 0, running ? run.timeAt(at) : 0]);
}

/** @param {any} props */
function drawn({ shape, look, run, at, isSelected, icons, onSelect, also = ['', ''] }) {
  const tone = look && look.begun ? look.tone : 'idle';
  const isBox = shape.panels.length > 0;
  const words = look && look.begun ? secondWords(shape, look, run, at) : shape.second[0];
  const second = cut(words, shape.room);
  const lower = second ? 0 : shape.alone;
  const choose = () => onSelect(shape.name);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose();
  };
  const [extra, said] = also;
  const status = said || toneWords(tone, look?.begun > 0, run.byName.get(shape.name)?.apart);
  return html`<g class=${`node on-${tone}${isBox ? ' box' : ''}${isSelected ? ' selected' : ''}${look?.begun ? '' : run.length ? ' unreached' : ` s-${shape.tone}`} ${extra}`} role="button" tabindex="0"
    aria-label=${`${shape.name}, ${shape.kind}, ${status}`} aria-pressed=${isSelected} data-state=${shape.name} onClick=${choose} onKeyDown=${press}>
    <title>${[`${shape.name} (${shape.kind})`, shape.detail, said, shape.waits ? icons?.waitingWords[shape.waits] : '', ...shape.retries.map((/** @type {string} */ one) => `Retry ${one}`), shape.comment].filter(Boolean).join('\n').slice(0, 600)}</title>
    ${isSelected ? outline(shape.outline, 'ring', 3) : null}
    ${shape.sheets.map((/** @type {any} */ sheet) => rect(sheet, 'frame'))}
    ${outline(shape.outline, 'frame')}
    ${shape.panels.map((/** @type {any} */ panel) => rect(panel, 'panel'))}
    ${rect(shape.tile, 'tile')}
    ${icons ? icon(icons.services[shape.service] ?? icons.kinds[shape.kind], shape.icon, 'glyph') : null}
    ${shape.names.map((/** @type {any} */ [line, x, y]) => html`<text class="name" x=${x} y=${y + lower}>${line}</text>`)}
    ${second ? html`<text class="second" x=${shape.second[1]} y=${shape.second[2]}>${second}</text>` : null}
    ${shape.waiting && icons ? icon(icons.waiting[shape.waits], shape.waiting, 'glyph faint', 0.82) : null}
    ${shape.retry && icons ? icon(icons.retry, shape.retry, 'glyph faint', 0.82) : null}
    ${look?.begun > 1 && look.running > 0 && look.done > 0 ? split(shape, look) : null}
    ${look?.begun && icons ? badge(shape.badge, tone, icons) : null}
  </g>`;
}

/** @param {any} shape @param {any} look @param {any} run @param {number} at */
function secondWords(shape, look, run, at) {
  const { visit } = look;
  const until = visit.end && visit.end <= at ? visit.endMs : run.timeAt(at);
  const took = duration(Math.max(0, until - visit.beginMs));
  if (look.running > 1 || (look.running > 0 && look.done > 0)) return `${look.done} of ${look.begun} done · ${look.running} running`;
  if (look.tone === 'run') return `Running · ${took}`;
  if (look.tone === 'wait') return `Waiting · ${took}`;
  if (look.begun > 1) return `×${look.begun.toLocaleString('en-GB')}`;
  if (look.tone === 'caught') return `Caught · ${took}`;
  if (look.tone === 'fail') return `Failed · ${took}`;
  if (look.tone === 'idle') return `Stopped · ${took}`;
  if (shape.kind === 'Choice' && visit.next >= 0) return `→ ${plain(run.states[visit.next].name)}`;
  return visit.attempts.length > 1 && shape.kind === 'Task' ? `${took} · ${plural(visit.attempts.length, 'attempt')}` : took;
}

/** @param {string} words @param {number} room */
function cut(words, room) {
  const most = Math.floor(room / CHARACTER);
  if (words.length <= most) return words;
  const end = Math.floor((most - 1) * 0.36);
  return `${words.slice(0, Math.max(1, most - 1 - end)).trimEnd()}…${words.slice(words.length - end).trimStart()}`;
}

/** @param {any} shape @param {any} look */
function split(shape, look) {
  const [x, y, width, height] = typeof shape.outline === 'string' ? [0, 0, 0, 0] : shape.outline;
  if (!width) return null;
  const inner = width - 16;
  const done = (inner * look.done) / look.begun;
  return html`<g><rect class="bar-ok" x=${x + 8} y=${y + height - 4} width=${done} height="2.5" rx="1" />
    <rect class="bar-run" x=${x + 8 + done} y=${y + height - 4} width=${inner - done} height="2.5" rx="1" /></g>`;
}

/** @param {any} props */
function Taken({ run, edge, at, looks }) {
  const fromStart = edge.kind === null;
  const times = fromStart ? 0 : takenBy(run, edge.source, edge.target, at);
  if (!times) return null;
  const tone = looks.get(edge.source)?.tone === 'caught' && edge.kind === 'catch' ? ' caught' : '';
  return html`<g><path class=${`edge taken${tone}`} d=${edge.whole} /><path class=${`arrow taken${tone}`} d=${edge.wholeArrow} /></g>`;
}

/** @param {any} props */
function Label({ label, times }) {
  return html`<g class=${`label ${label.look} ${times ? 'taken' : ''}`}><title>${label.labels.join('\n')}</title>${rect(label.outline, 'pill')}
    ${label.lines.map((/** @type {any} */ [words, x, y]) => html`<text text-anchor="middle" x=${x} y=${y}>${words}</text>`)}</g>`;
}

/** @param {any} props */
export function Mark({ mark }) {
  if (mark.kind === 'start') return html`<circle class="start" cx=${mark.x} cy=${mark.y} r="5" />`;
  return html`<g><path class="edge" d=${mark.stub} /><circle class="end" cx=${mark.x} cy=${mark.y} r="5.2" /><circle class="start" cx=${mark.x} cy=${mark.y} r="2.6" /></g>`;
}

/** @param {any} shape @param {string} look @param {number} [more] */
function rect([x, y, width, height, radius], look, more = 0) {
  return html`<rect class=${look} x=${x - more} y=${y - more} width=${width + 2 * more} height=${height + 2 * more} rx=${radius + more} />`;
}

/** @param {any} shape @param {string} look @param {number} [more] */
function outline(shape, look, more = 0) {
  return typeof shape === 'string' ? html`<path class=${look} d=${shape} />` : rect(shape, look, more);
}

/** @param {string} path @param {number[]} place @param {string} look @param {number} [scale] */
function icon(path, [x, y], look, scale = 1) {
  return html`<path class=${look} transform=${`translate(${x} ${y}) scale(${scale})`} d=${path} />`;
}

/** @param {number[]} centre @param {string} tone @param {any} icons */
function badge([x, y], tone, icons) {
  return html`<g class=${`mark m-${tone}`}><circle class="halo" cx=${x} cy=${y} r="10" /><circle cx=${x} cy=${y} r="8" />
    ${icon(icons.statuses[tone], [x - 4.8, y - 4.8], 'sign', 0.6)}</g>`;
}
