// A field for a JSON text, with the place of its first mistake as it is typed.

import { html, useMemo, useRef } from './vendor.js';
import { HIDDEN, mistakeOf, tidy } from './json_text.js';

const MOST_CHECKED = 2_000_000;

/** A value that the server's settings hide, which has to be typed in before the text is of use. @param {string} text */
function hiddenIn(text) {
  const place = text.indexOf(HIDDEN);
  if (place < 0) return null;
  const before = text.slice(0, place).split('\n');
  return { line: before.length, column: before[before.length - 1].length + 1, message: 'This value is hidden: type it in.' };
}

/** The mistake of a text; null for one that is right, or too long to check as it is typed. @param {string} text */
export function problemOf(text) {
  return text.length > MOST_CHECKED ? null : mistakeOf(text) ?? hiddenIn(text);
}

/** A text as it is offered for editing. @param {string} text */
export function offered(text) {
  return text.length > MOST_CHECKED || mistakeOf(text) ? text : tidy(text);
}

/**
 * @param {{id: string, label: string, value: string, rows?: number, hint?: any, isOptional?: boolean, onChange: (value: string) => void}} props
 */
export function JsonField({ id, label, value, rows = 10, hint = null, isOptional = false, onChange }) {
  const box = useRef(/** @type {any} */ (null));
  const problem = useMemo(() => (isOptional && !value.trim() ? null : problemOf(value)), [value, isOptional]);
  const show = () => {
    if (!problem) return;
    const place = value.split('\n').slice(0, problem.line - 1).join('\n').length + (problem.line > 1 ? 1 : 0) + problem.column - 1;
    box.current.focus();
    box.current.setSelectionRange(place, Math.min(value.length, place + 1));
  };
  return html`<div class="field"><label for=${id}>${label}</label>
    <textarea id=${id} ref=${box} rows=${rows} value=${value} spellcheck="false" autocomplete="off" autocapitalize="off" aria-invalid=${problem ? 'true' : 'false'}
      aria-describedby=${`${id}-said`} onInput=${(/** @type {any} */ event) => onChange(event.target.value)}></textarea>
    <p class="hint" id=${`${id}-said`}>${problem
      ? html`<button type="button" class="link" onClick=${show}>Line ${problem.line}, column ${problem.column}</button> <span class="fail">${problem.message}</span>`
      : html`${hint ?? html`<span class="faint">JSON</span>`} ${value.length <= MOST_CHECKED && value.trim() ? html`<button type="button" class="link" onClick=${() => onChange(tidy(value))}>Tidy</button>` : null}`}</p></div>`;
}
