// JSON as lines: a value or a difference, with the path of the value under the pointer.

import { html, useMemo, useState } from './vendor.js';
import { jsonLines } from './diff.js';
import { Icon } from './icons.js';

const FIRST_LINES = 300;
export const MOST_LINES = 3000;

/** A value, folded after many lines; `whole` is the payload that it came from. @param {{value: any, whole?: any}} props */
export function Json({ value, whole = null }) {
  const { lines, more } = useMemo(() => jsonLines(value, MOST_LINES), [value]);
  return html`<${Lines} lines=${lines} more=${more} whole=${whole} />`;
}

/** Lines of JSON or of a difference. @param {{lines: import('./diff.js').Line[], more: number, whole?: any}} props */
export function Lines({ lines, more, whole }) {
  const [path, setPath] = useState('');
  const [most, setMost] = useState(FIRST_LINES);
  const left = Math.max(0, lines.length - most);
  const shown = useMemo(() => lines.slice(0, most).map(drawn), [lines, most]);
  const over = (/** @type {any} */ event) => setPath(event.target.closest('[data-path]')?.dataset.path ?? '');
  return html`<div class="json" tabindex="0" onMouseOver=${over}>${shown}
    ${left ? html`<button class="more" onClick=${() => setMost(MOST_LINES)}>Show ${left.toLocaleString('en-GB')} more lines</button>` : null}
    ${more ? html`<div class="line faint">${more.toLocaleString('en-GB')} lines are not shown</div>` : null}
    ${whole && !whole.isWhole ? html`<div class="line faint">Only the beginning of ${whole.length.toLocaleString('en-GB')} characters is shown.</div>` : null}</div>
    <div class="pathbar"><span>${path || 'Point at a value for its path'}</span>${whole && navigator.clipboard ? html`<button onClick=${() => navigator.clipboard.writeText(whole.text)}><${Icon} name="copy" size=${12} /> Copy</button>` : null}</div>`;
}

const MARKS = { '+': ['add', 'added: '], '-': ['gone', 'removed: '] };

/** @param {import('./diff.js').Line} line */
function drawn(line) {
  const [look, words] = line.mark === '+' || line.mark === '-' ? MARKS[line.mark] : ['', ''];
  return html`<div class=${`line m${look}`} data-path=${line.path}><span class="sign" aria-hidden="true">${line.mark}</span>
    <span class=${`words i${Math.min(line.indent, 12)}`}>${words ? html`<span class="unseen">${words}</span>` : null}${line.name ? html`<span class="key">${line.name}</span>: ` : null}<span class=${`v-${line.tone}`}>${line.text}</span></span></div>`;
}
