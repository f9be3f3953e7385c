// Forms in dialogs: fields with labels, one action at a time, and its problem in words.

import { html } from './vendor.js';
import { Dialog, useAction } from './dialogs.js';

/**
 * A form whose action closes the dialog once it has succeeded.
 * @param {{title: string, verb: string, wide?: boolean, isReady?: boolean, onSubmit: () => Promise<void>, onClose: () => void, children?: any}} props
 */
export function FormDialog({ title, verb, wide = false, isReady = true, onSubmit, onClose, children }) {
  const { isBusy, problem, run } = useAction();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await onSubmit();
      onClose();
    });
  };
  return html`<${Dialog} title=${title} wide=${wide} onClose=${onClose}><form class="form" onSubmit=${submit}>${children}
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy || !isReady}>${isBusy ? 'Working…' : verb}</button></footer></form><//>`;
}

/**
 * A labelled field; with `rows` one of several lines.
 * @param {{label: string, value: string, onInput: (text: string) => void, rows?: number, hint?: any, needed?: boolean, kind?: string}} props
 */
export function Field({ label, value, onInput, rows = 0, hint = null, needed = false, kind = 'text' }) {
  const input = (/** @type {any} */ event) => onInput(event.target.value);
  return html`<label>${label}${rows
    ? html`<textarea rows=${rows} value=${value} required=${needed} spellcheck=${false} onInput=${input}></textarea>`
    : html`<input type=${kind} value=${value} required=${needed} autocomplete="off" spellcheck=${false} onInput=${input} />`}
    ${hint ? html`<span class="faint">${hint}</span>` : null}</label>`;
}

/** A labelled choice. @param {{label: string, value: string, options: [string, string][], onChange: (value: string) => void}} props */
export function Choice({ label, value, options, onChange }) {
  return html`<label>${label}<select value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>${options.map(([key, words]) => html`<option value=${key} selected=${key === value}>${words}</option>`)}</select></label>`;
}
