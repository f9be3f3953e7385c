// What asks for a link of `statewright console`: a page in place of every other one, or a dialog over it.

import { html, useEffect, useRef, useState } from './vendor.js';
import { keyOf } from './acting.js';
import { signedOut } from './api.js';
import { useAction } from './dialogs.js';
import { Icon } from './icons.js';
import { askAround, open } from './login.js';

const USUAL = '127.0.0.1:4566';

/** @param {{over?: boolean} & Record<string, any>} props  `over`: a dialog, which closes when the user has signed in */
export function Page({ over = false }) {
  const box = useRef(/** @type {any} */ (null));
  const [pasted, setPasted] = useState('');
  const { isBusy, problem, run } = useAction();
  useEffect(() => {
    askAround();
    if (!over) return undefined;
    box.current.showModal();
    // Browsers close a dialog at the second Escape, and the next one would be for the form below.
    const stay = (/** @type {KeyboardEvent} */ event) => (event.key === 'Escape' ? event.preventDefault() : undefined);
    addEventListener('keydown', stay, true);
    return () => removeEventListener('keydown', stay, true);
  }, []);
  const key = keyOf(pasted);
  const command = `statewright console${location.host === USUAL ? '' : ` --endpoint ${location.origin}`}`;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (key) run(() => open(key));
  };
  const words = html`<h1>Sign in</h1>
    <p role="status">${signedOut.value}</p>
    <ol><li>Run this where the server's access key is: beside its <code>statewright.toml</code>, or with <code>AWS_ACCESS_KEY_ID</code> and <code>AWS_SECRET_ACCESS_KEY</code>.
        <div class="command"><code>${command}</code>${navigator.clipboard ? html`<button class="plain" aria-label="Copy the command" onClick=${() => navigator.clipboard.writeText(command)}><${Icon} name="copy" /></button>` : null}</div></li>
      <li>It opens the console signed in, and this page goes on by itself. Elsewhere, add <code>--print</code> and paste its link here within a minute.
        <form class="inline" onSubmit=${submit}><label class="unseen" for="link">Link</label><input id="link" type="password" placeholder="…/console#k=…" value=${pasted} autocomplete="off" spellcheck="false"
          onInput=${(/** @type {any} */ event) => setPasted(event.target.value)} /><button class="action primary" disabled=${isBusy || !key}>Sign in</button></form>
        ${pasted && !key ? html`<p class="fail">This is no link of statewright console.</p>` : problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}</li></ol>
    <p class="faint">For looking only: <code>${command} --read-only</code></p>`;
  return over
    ? html`<dialog class="dialog wide login" ref=${box} aria-label="Sign in" onCancel=${(/** @type {Event} */ event) => event.preventDefault()} onClose=${() => box.current?.showModal()}>${words}</dialog>`
    : html`<main class="main" id="main"><section class="card login">${words}</section></main>`;
}
