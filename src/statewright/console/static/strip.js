// The items of a Map Run, a cell each, on a canvas: ten thousand items are one element. The list below has the same.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { count } from './format.js';
import { cornerOf, gridOf, orderOf, placeAt, statusAt, STATUSES } from './item_strip.js';

const MOST_CELLS = 200000;
const GLYPHS = 9;
const SUCCEEDED_ALPHA = 0.4;

/** @param {{strip: string, more: number, failedFirst: boolean, onChoose: (index: number) => void, words: string, unit: string}} props */
export function Strip({ strip, more, failedFirst, onChoose, words, unit }) {
  const box = useRef(/** @type {any} */ (null));
  const canvas = useRef(/** @type {any} */ (null));
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const [over, setOver] = useState(-1);
  const cells = Math.min(strip.length + more, MOST_CELLS);
  const order = useMemo(() => orderOf(strip.slice(0, cells), failedFirst, Math.max(0, cells - strip.length)), [strip, cells, failedFirst]);
  const grid = useMemo(() => gridOf(cells, width || 800), [cells, width]);
  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    seen.observe(box.current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const change = () => setTheme((/** @type {number} */ before) => before + 1);
    dark.addEventListener('change', change);
    return () => {
      seen.disconnect();
      dark.removeEventListener('change', change);
    };
  }, []);
  useEffect(() => {
    if (width) draw(canvas.current, strip, order, grid);
  }, [strip, order, grid, width, theme]);
  const indexUnder = (/** @type {any} */ event) => {
    const place = placeAt(grid, order.length, event.offsetX, event.offsetY);
    return place < 0 ? -1 : order[place];
  };
  return html`<div class="strip" ref=${box}><div class="stripbox" tabindex="0" role="region" aria-label=${`${unit}s as cells`}><canvas ref=${canvas} role="img" aria-label=${words}
      onPointerMove=${(/** @type {any} */ event) => setOver(indexUnder(event))} onPointerLeave=${() => setOver(-1)}
      onClick=${(/** @type {any} */ event) => {
    const index = indexUnder(event);
    if (index >= 0 && index < strip.length) onChoose(index);
  }}></canvas></div>
    <p class="faint under">${over >= 0 ? `${unit} ${count(over)}: ${over < strip.length ? STATUSES[statusAt(strip, over)].words : 'Pending'}${over < strip.length ? '; click to see it in the list' : ''}`
      : `Point at a cell for its ${unit.toLowerCase()}.${strip.length + more > cells ? ` The first ${count(cells)} are shown.` : ''}`}</p></div>`;
}

/** @param {HTMLCanvasElement} canvas @param {string} strip @param {Uint32Array} order @param {import('./item_strip.js').Grid} grid */
function draw(canvas, strip, order, grid) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = grid.width * scale;
  canvas.height = grid.height * scale;
  canvas.style.width = `${grid.width}px`;
  canvas.style.height = `${grid.height}px`;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(scale, scale);
  // A canvas knows neither custom properties nor light-dark().
  const probe = document.body.appendChild(document.createElement('span'));
  const colour = (/** @type {string} */ name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  /** @type {Record<string, string>} */
  const fills = { ok: colour('--bar-ok'), fail: colour('--bar-fail'), run: colour('--bar-run'), wait: colour('--bar-wait'), caught: colour('--bar-caught') };
  const edge = colour('--edge');
  const mark = colour('--digit');
  probe.remove();
  const { size } = grid;
  for (let digit = 0; digit < STATUSES.length; digit += 1) {
    const { tone } = STATUSES[digit];
    context.fillStyle = fills[tone] ?? edge;
    context.strokeStyle = digit === 0 ? edge : mark;
    context.lineWidth = size > 11 ? 1.6 : 1.1;
    // What succeeded stays pale, so that the rest stands out.
    context.globalAlpha = digit === 2 ? SUCCEEDED_ALPHA : 1;
    for (let place = 0; place < order.length; place += 1) {
      if (statusAt(strip, order[place]) !== digit) continue;
      const [x, y] = cornerOf(grid, place);
      if (digit === 0) {
        if (size > 5) context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
        else context.fillRect(x + size / 3, y + size / 3, size / 3, size / 3);
        continue;
      }
      context.fillRect(x, y, size, size);
      if (size >= GLYPHS) glyph(context, digit, x, y, size);
    }
  }
}

/** The sign of a status in its cell: a cross, a clock's hand, a bar, an arc; a success has none. @param {CanvasRenderingContext2D} context @param {number} digit @param {number} x @param {number} y @param {number} size */
function glyph(context, digit, x, y, size) {
  const low = size * 0.28;
  const high = size * 0.72;
  context.beginPath();
  if (digit === 3) {
    context.moveTo(x + low, y + low);
    context.lineTo(x + high, y + high);
    context.moveTo(x + high, y + low);
    context.lineTo(x + low, y + high);
  } else if (digit === 4) {
    context.moveTo(x + size / 2, y + low);
    context.lineTo(x + size / 2, y + size / 2);
    context.lineTo(x + high, y + size / 2);
  } else if (digit === 5) {
    context.moveTo(x + low, y + size / 2);
    context.lineTo(x + high, y + size / 2);
  } else if (digit === 1 || digit === 6) {
    context.arc(x + size / 2, y + size / 2, size * 0.22, 0, digit === 1 ? Math.PI * 1.4 : Math.PI * 2);
  }
  context.stroke();
}
