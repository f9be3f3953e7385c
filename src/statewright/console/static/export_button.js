// On an execution's page: a link to this moment, its costs, and the run as one file.

import { html, useState } from './vendor.js';
import { HELD } from './api.js';
import { Icon } from './icons.js';
import { copyText } from './copying.js';
import { useAction } from './dialogs.js';

/** Copies the address, which names event, state and tab. @param {import('./run_actions.js').ActionProps} props */
export function ShareButton({ at, arn }) {
  const [copied, setCopied] = useState('');
  const { problem, run: start } = useAction();
  const now = `${at} ${location.search}`;
  const copy = () => start(async () => {
    // The address of a run that plays is written with a delay.
    const address = new URL(location.href);
    if (!address.searchParams.has('at')) address.searchParams.set('at', String(at));
    await copyText(address.href);
    setCopied(now);
  });
  // An imported history is in this tab alone.
  if (!navigator.clipboard || arn.startsWith(HELD)) return null;
  return html`<button class="action" aria-live="polite" title="Copies the address of this page with its event, state and tab" onClick=${copy}><${Icon} name="copy" />${copied === now ? 'Copied' : 'Copy link to this moment'}</button>
    ${problem ? html`<span class="fail" role="alert">${problem.message}</span>` : null}`;
}

/** Saves the run as one HTML file. @param {import('./run_actions.js').ActionProps} props */
export function ExportButton({ run, arn }) {
  const { isBusy, problem, run: start } = useAction();
  if (arn.startsWith(HELD)) return null;
  const save = () => start(async () => (await import('./downloads.js')).download('run/export', { arn }, `${run.head.name}.html`));
  return html`<button class="action" disabled=${isBusy} title="One HTML file with the run inside, to attach to a ticket; it needs no server" onClick=${save}>${isBusy ? 'Exporting…' : 'Export page'}</button>
    ${problem ? html`<span class="fail" role="alert">${problem.message}</span>` : null}`;
}
