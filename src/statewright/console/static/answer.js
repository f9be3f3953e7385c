// The dialog that answers a task which waits for an answer to its token.

import { html, useState } from './vendor.js';
import { call, regionOf } from './api.js';
import { timeLeft } from './acting.js';
import { Dialog, useAction } from './dialogs.js';
import { duration, iso, plain } from './format.js';
import { Icon } from './icons.js';
import { JsonField, problemOf } from './json_field.js';
import { sinceOf } from './waiting.js';

/** @param {any} props */
export function AnswerDialog({ run, arn, waiting, onClose, onDone }) {
  const [token, setToken] = useState(waiting.tasks[0].token);
  const [outcome, setOutcome] = useState('success');
  const [output, setOutput] = useState('{}');
  const [error, setError] = useState('');
  const [cause, setCause] = useState('');
  const [said, setSaid] = useState('');
  const { isBusy, problem, run: act } = useAction();
  const task = waiting.tasks.find((/** @type {any} */ one) => one.token === token);
  const region = regionOf(arn);
  const maySend = task && (outcome === 'failure' || !problemOf(output));
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!maySend) return;
    act(async () => {
      if (outcome === 'success') await call('states', 'SendTaskSuccess', { taskToken: token, output }, undefined, region);
      else await call('states', 'SendTaskFailure', { taskToken: token, ...(error ? { error } : {}), ...(cause ? { cause } : {}) }, undefined, region);
      onDone();
    });
  };
  const beat = () => act(async () => {
    setSaid('');
    await call('states', 'SendTaskHeartbeat', { taskToken: token }, undefined, region);
    setSaid('The heartbeat was noted: its time begins anew.');
  });
  const choice = (/** @type {string} */ value, /** @type {string} */ words) => html`<label class="check"><input type="radio" name="outcome" value=${value} checked=${outcome === value} onChange=${() => setOutcome(value)} /> ${words}</label>`;
  return html`<${Dialog} title="Answer a task" wide onClose=${onClose}><form class="form" autocomplete="off" onSubmit=${send}>
    ${waiting.tasks.length > 1 ? html`<div class="field"><label for="task">Task</label><select id="task" value=${token} onChange=${(/** @type {any} */ event) => setToken(event.target.value)}>${waiting.tasks.map((/** @type {any} */ one) => html`<option key=${one.token} value=${one.token} selected=${one.token === token}>${plain(one.state)}, event ${one.event}</option>`)}</select>
      ${waiting.count > waiting.tasks.length ? html`<p class="hint faint">The first ${waiting.tasks.length} of ${waiting.count.toLocaleString('en-GB')}.</p>` : null}</div>` : null}
    ${task ? html`<${Facts} run=${run} task=${task} nowMs=${waiting.nowMs} />` : html`<p role="alert">This task no longer waits.</p>`}
    <fieldset class="choice"><legend>Answer</legend>${choice('success', 'Success, with an output')}${choice('failure', 'Failure, with an error')}</fieldset>
    ${outcome === 'success' ? html`<${JsonField} id="output" label="Output" value=${output} rows=${8} onChange=${setOutput} />` : html`<div class="fields">
      <div class="field"><label for="error">Error</label><input id="error" value=${error} maxlength="256" autocomplete="off" spellcheck="false" onInput=${(/** @type {any} */ event) => setError(event.target.value)} /><p class="hint faint">the name that Retry and Catch look for</p></div>
      <div class="field"><label for="cause">Cause</label><input id="cause" value=${cause} maxlength="32768" autocomplete="off" onInput=${(/** @type {any} */ event) => setCause(event.target.value)} /></div></div>`}
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : said ? html`<p role="status">${said}</p>` : null}
    <footer>${task?.heartbeatMs ? html`<button type="button" class="action first" disabled=${isBusy} onClick=${beat}>Send a heartbeat</button>` : null}
      <button type="button" class="action" onClick=${onClose}>Cancel</button>
      <button class=${`action primary ${outcome === 'failure' ? 'danger' : ''}`} disabled=${isBusy || !maySend}>${isBusy ? 'Sending…' : outcome === 'success' ? 'Send success' : 'Send failure'}</button></footer></form><//>`;
}

/** @param {any} props */
function Facts({ run, task, nowMs }) {
  const since = sinceOf(run, task);
  const fact = (/** @type {string} */ words, /** @type {any} */ value, title = '') => (value === null ? null : html`<div title=${title}><dt>${words}</dt><dd>${value}</dd></div>`);
  return html`<dl class="factbar">${fact('State', html`<bdi>${task.state}</bdi>`)}${fact('Resource', html`<bdi>${task.resource}</bdi>`)}
      ${since === null ? null : fact('Has waited', duration(Math.max(0, nowMs - since)), iso(since))}
      ${fact('Times out', timeLeft(task.timeoutMs, nowMs, duration) ?? 'never', task.timeoutMs ? iso(task.timeoutMs) : '')}
      ${fact('Heartbeat due', timeLeft(task.heartbeatMs, nowMs, duration), task.heartbeatMs ? iso(task.heartbeatMs) : '')}</dl>
    <div class="field"><label for="token">Task token</label><div class="command"><input id="token" class="mono" readonly value=${task.token} />${navigator.clipboard ? html`<button type="button" class="plain" aria-label="Copy the task token" onClick=${() => navigator.clipboard.writeText(task.token)}><${Icon} name="copy" /></button>` : null}</div></div>`;
}
