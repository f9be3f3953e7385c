// Beside the name of an execution: compare it with another run, and ask what if.

import { html, useEffect, useState } from './vendor.js';
import { HELD, read } from './api.js';
import { Dialog } from './dialogs.js';
import { ago, iso } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { go } from './navigation.js';
import { format } from './route.js';

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
      if (event.key !== 'c' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('dialog')) return;
      if (!isStored(run, arn)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  if (!isStored(run, arn)) return null;
  return html`<button class="action" aria-keyshortcuts="c" onClick=${() => setOpen(true)}><${Icon} name="compare" /> Compare</button>
    ${isOpen ? html`<${Choice} run=${run} arn=${arn} onClose=${() => setOpen(false)} />` : null}`;
}

const MOST_OFFERED = 20;

/** The last runs of the same machine, and a field for an ARN. @param {any} props */
function Choice({ run, arn, onClose }) {
  const [rows, setRows] = useState(/** @type {any[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [other, setOther] = useState('');
  const machine = run.head.machineArn;
  useEffect(() => {
    const stop = new AbortController();
    const few = (/** @type {string} */ status) => read('executions', { machine, status, limit: MOST_OFFERED, region: machine.split(':')[3] }, stop.signal).then((found) => found.executions);
    Promise.all([few(''), few('SUCCEEDED')]).then(([all, good]) => setRows(offered(arn, run.head, all, good)), (failure) => stop.signal.aborted || setProblem(failure));
    return () => stop.abort();
  }, [arn]);
  const compare = (/** @type {string} */ with_) => {
    onClose();
    go(format('compare', '', { a: with_, b: arn }));
  };
  return html`<${Dialog} title="Compare with" onClose=${onClose}><div class="form">
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : !rows ? html`<p class="faint">Reading…</p>` : !rows.length ? html`<p class="faint">There is no other run of this machine.</p>` : html`<ul class="choices">${rows.map(({ words, row }) => html`<li key=${row.arn}>
      <button onClick=${() => compare(row.arn)}><span><b>${words}</b> <bdi>${row.name}</bdi></span> <${StatusBadge} status=${row.status} /> <span class="faint" title=${iso(row.startedMs)}>${ago(row.startedMs, Date.now())}</span></button></li>`)}</ul>`}
    <form onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (other.trim()) compare(other.trim());
    }}><label>Or with the execution of this ARN <input value=${other} placeholder="arn:aws:states:…:execution:…" onInput=${(/** @type {any} */ event) => setOther(event.target.value)} /></label>
      <footer><button class="action primary" disabled=${!other.trim()}>Compare</button></footer></form></div><//>`;
}

/**
 * The last successful run, the one before this, and others; none of them twice.
 * @param {string} arn @param {any} head @param {any[]} all @param {any[]} good @returns {{words: string, row: any}[]}
 */
export function offered(arn, head, all, good) {
  const found = new Map();
  const put = (/** @type {string} */ words, /** @type {any} */ row) => {
    if (row && row.arn !== arn && !found.has(row.arn)) found.set(row.arn, { words, row });
  };
  put('the last successful run', good.find((row) => row.arn !== arn));
  put('the run before', all.find((row) => row.arn !== arn && row.startedMs <= head.startedMs));
  for (const row of all.slice(0, 6)) put('', row);
  return [...found.values()];
}
