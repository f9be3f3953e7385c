// Dialogs: a form over the page, and the question before something that cannot be undone.

import { html, useEffect, useRef, useState } from './vendor.js';

/**
 * A modal dialog. Escape and the button at its head close it; the focus returns to where it was.
 * @param {{title: string, onClose: () => void, wide?: boolean, children?: any}} props
 */
export function Dialog({ title, onClose, wide = false, children }) {
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog class=${wide ? 'dialog wide' : 'dialog'} ref=${box} aria-label=${title} onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  }}><header><h2>${title}</h2><button class="plain" aria-label="Close" onClick=${onClose}>×</button></header>${children}</dialog>`;
}

/**
 * Runs an action from a button: one at a time, with its problem in words.
 * @returns {{isBusy: boolean, problem: Error | null, run: (action: () => Promise<void>) => Promise<void>}}
 */
export function useAction() {
  const [held, setHeld] = useState({ isBusy: false, problem: /** @type {Error | null} */ (null) });
  const run = async (/** @type {() => Promise<void>} */ action) => {
    setHeld({ isBusy: true, problem: null });
    try {
      await action();
      setHeld({ isBusy: false, problem: null });
    } catch (problem) {
      setHeld({ isBusy: false, problem: /** @type {Error} */ (problem) });
    }
  };
  return { ...held, run };
}

/**
 * Asks before something that cannot be undone. With `typed`, that word has to be typed first.
 * @param {{title: string, words: any, verb: string, typed?: string, onConfirm: () => Promise<void>, onClose: () => void}} props
 */
export function Confirm({ title, words, verb, typed, onConfirm, onClose }) {
  const { isBusy, problem, run } = useAction();
  const [text, setText] = useState('');
  const confirm = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await onConfirm();
      onClose();
    });
  };
  return html`<${Dialog} title=${title} onClose=${onClose}><form class="form" onSubmit=${confirm}><p>${words}</p>
    ${typed ? html`<label><span>Type <b><bdi>${typed}</bdi></b> to confirm</span><input value=${text} autocomplete="off" onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>` : null}
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button>
      <button class="action primary danger" disabled=${isBusy || (typed !== undefined && text !== typed)}>${verb}</button></footer></form><//>`;
}
