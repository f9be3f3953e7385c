// The dialog that asks which run to compare an execution with.

import { html, useEffect, useState } from './vendor.js';
import { read } from './api.js';
import { Dialog } from './dialogs.js';
import { ago, iso } from './format.js';
import { StatusBadge } from './icons.js';
import { go } from './navigation.js';
import { format } from './route.js';

const MOST_OFFERED = 20;

/** The last runs of the same machine, and a field for an ARN. @param {any} props */
export function Choice({ run, arn, onClose }) {
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
