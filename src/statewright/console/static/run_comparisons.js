// Beside the name of an execution: compare it with another run, and ask what if.

import { html, useEffect, useState } from './vendor.js';
import { HELD } from './api.js';
import { Icon } from './icons.js';
import { Later } from './later.js';
import { format } from './route.js';

const choice = () => import('./compare_choice.js').then((module) => module.Choice);

/** Whether the server has the history of a run: not of one from a file, nor in a file that holds one. @param {{head: any}} run @param {string} arn */
export function isStored(run, arn) {
  return run.head.type !== 'EXPRESS' && !arn.startsWith(HELD) && !document.querySelector('.main.offline');
}

/** @param {import('./run_actions.js').ActionProps} props */
export function WhatIfButton({ run, arn }) {
  if (run.head.status === 'RUNNING' || !isStored(run, arn)) return null;
  return html`<a class="action" href=${format('what-if', arn)}><${Icon} name="fork" /> What if</a>`;
}

/** @param {import('./run_actions.js').ActionProps} props */
export function CompareButton({ run, arn }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.key !== 'c' || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('dialog')) return;
      if (!isStored(run, arn)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  if (!isStored(run, arn)) return null;
  return html`<button class="action" aria-keyshortcuts="c" onClick=${() => setOpen(true)}><${Icon} name="compare" /> Compare</button>
    ${isOpen ? html`<${Later} load=${choice} run=${run} arn=${arn} onClose=${() => setOpen(false)} />` : null}`;
}
