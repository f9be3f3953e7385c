// The dialogs that stop and redrive the execution that the page shows.

import { html, useMemo, useState } from './vendor.js';
import { call, regionOf } from './api.js';
import { uniqueName } from './acting.js';
import { Dialog, useAction } from './dialogs.js';
import { Problem } from './parts.js';
import { useCall } from './use_call.js';

/** @param {any} props */
export function StopDialog({ run, arn, reload, onClose }) {
  const [error, setError] = useState('');
  const [cause, setCause] = useState('');
  const { isBusy, problem, run: act } = useAction();
  const stop = (/** @type {Event} */ event) => {
    event.preventDefault();
    act(async () => {
      await call('states', 'StopExecution', { executionArn: arn, ...(error ? { error } : {}), ...(cause ? { cause } : {}) }, undefined, regionOf(arn));
      onClose();
      reload();
    });
  };
  return html`<${Dialog} title="Stop this execution" onClose=${onClose}><form class="form" autocomplete="off" onSubmit=${stop}>
    <p><b><bdi>${run.head.name}</bdi></b> ends as aborted. What its tasks have done stays done; jobs that they started are stopped. It can be redriven later.</p>
    <div class="field"><label for="stop-error">Error, if you want one noted</label><input id="stop-error" value=${error} maxlength="256" autocomplete="off" onInput=${(/** @type {any} */ event) => setError(event.target.value)} /></div>
    <div class="field"><label for="stop-cause">Cause</label><input id="stop-cause" value=${cause} maxlength="32768" autocomplete="off" onInput=${(/** @type {any} */ event) => setCause(event.target.value)} /></div>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary danger" disabled=${isBusy}>${isBusy ? 'Stopping…' : 'Stop'}</button></footer></form><//>`;
}

/** @param {any} props */
export function RedriveDialog({ run, arn, reload, onClose }) {
  const clientToken = useMemo(uniqueName, []);
  const { found, problem: trouble, again } = useCall('states', 'DescribeExecution', { executionArn: arn, includedData: 'METADATA_ONLY' });
  const { isBusy, problem, run: act } = useAction();
  const redrive = (/** @type {Event} */ event) => {
    event.preventDefault();
    act(async () => {
      await call('states', 'RedriveExecution', { executionArn: arn, clientToken }, undefined, regionOf(arn));
      onClose();
      reload();
    });
  };
  const may = found?.redriveStatus === 'REDRIVABLE';
  return html`<${Dialog} title="Redrive this execution" onClose=${onClose}>${trouble ? html`<${Problem} problem=${trouble} again=${again} />` : !found ? html`<p class="faint pad">Reading…</p>` : html`<form class="form" onSubmit=${redrive}>
    ${may ? html`<p><b><bdi>${run.head.name}</bdi></b> goes on with the states that did not succeed, on the definition that it began with. What succeeded is not run again; failed tasks get all their retries anew.</p>
      ${found.redriveCount ? html`<p class="faint">It was redriven ${found.redriveCount.toLocaleString('en-GB')} times before.</p>` : null}`
      : html`<p>${found.redriveStatus === 'REDRIVABLE_BY_MAP_RUN' ? 'It is a child of a Map Run: redrive the execution that has started that.' : `It cannot be redriven: ${found.redriveStatusReason}.`} A fork begins a new execution at one of its states.</p>`}
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>${may ? 'Cancel' : 'Close'}</button>${may ? html`<button class="action primary" disabled=${isBusy}>${isBusy ? 'Redriving…' : 'Redrive'}</button>` : null}</footer></form>`}<//>`;
}
