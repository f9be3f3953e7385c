// A test invocation of a function: an event as JSON, and what came back with its log.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { useAction } from './dialogs.js';
import { duration } from './format.js';
import { Json } from './json.js';
import { fromBase64, reportOf, toBase64 } from './log_lines.js';
import { opened } from './queue_words.js';

const MOST_CHARACTERS = 200000;

/** @param {{found: any, server: any, again: () => void}} props */
export function Invoke({ found, server, again }) {
  const [text, setText] = useState('{}');
  const [kind, setKind] = useState('RequestResponse');
  const [qualifier, setQualifier] = useState('');
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  if (!server?.mayWrite) return html`<p class="faint pad">This sign-in may only read, so functions cannot be invoked.</p>`;
  const fault = faultOf(text);
  const invoke = (/** @type {Event} */ event) => {
    event.preventDefault();
    setAnswer(null);
    run(async () => {
      const done = await call('lambda', 'Invoke', { FunctionName: found.name, InvocationType: kind, Payload: toBase64(text), ...(kind === 'RequestResponse' ? { LogType: 'Tail' } : {}), ...(qualifier.trim() ? { Qualifier: qualifier.trim() } : {}) });
      setAnswer({ ...done, kind, payload: fromBase64(done.Payload ?? ''), log: fromBase64(done.LogResult ?? '') });
      again();
    });
  };
  return html`<div class="parts block"><form class="stack" onSubmit=${invoke}><label class="stack"><span>Event, as JSON</span><textarea rows="9" spellcheck="false" value=${text} aria-invalid=${Boolean(fault)} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
      ${fault ? html`<p class="fail" role="alert">${fault}</p>` : null}
      <div class="filters"><label>How <select value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.target.value)}><option value="RequestResponse">wait for the result</option><option value="Event">as an event, later</option></select></label>
        <label>Version or alias <input class="short" placeholder="$LATEST" value=${qualifier} onInput=${(/** @type {any} */ event) => setQualifier(event.target.value)} /></label><button class="action primary space" disabled=${isBusy || Boolean(fault)}>${isBusy ? 'Invoking…' : 'Invoke'}</button></div></form>
    <div class="stack" aria-live="polite">${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : answer ? html`<${Answer} answer=${answer} />` : html`<p class="faint">The result is shown here. An invocation is real: what the function does, it does. <code>statewright function invoke ${found.name}</code> does the same.</p>`}</div></div>`;
}

/** What is wrong with a text that should be JSON; empty if nothing is. @param {string} text */
function faultOf(text) {
  try {
    JSON.parse(text);
    return '';
  } catch (problem) {
    return `This is not JSON: ${/** @type {Error} */ (problem).message}`;
  }
}

/** @param {{answer: any}} props */
function Answer({ answer }) {
  if (answer.kind === 'Event') return html`<p>The event was accepted (${answer.StatusCode}) and is invoked soon; the log shows what it did.</p>`;
  const report = reportOf(answer.log);
  const shown = answer.payload.slice(0, MOST_CHARACTERS);
  const body = opened(shown);
  const lines = answer.log.split('\n').filter(Boolean);
  return html`<p><span class=${`badge t-${answer.FunctionError ? 'fail' : 'ok'}`}>${answer.FunctionError ? `Failed: ${answer.FunctionError}` : 'Succeeded'}</span>
      ${report.durationMs === null ? null : html` <b>${duration(report.durationMs)}</b>, billed ${duration(report.billedMs ?? 0)}`}${report.initMs === null ? null : html`, init ${duration(report.initMs)}`}${report.usedMb === null ? null : html`, ${report.usedMb} MB`} <span class="faint">version ${answer.ExecutedVersion}</span></p>
    <div class="result"><${Json} value=${body.isJson ? body.value : scalar(shown)} whole=${{ text: answer.payload, length: answer.payload.length, isWhole: shown.length === answer.payload.length }} /></div>
    ${lines.length ? html`<h3>End of the log</h3><ol class="loglines" tabindex="0" aria-label="End of the log">${lines.map((/** @type {string} */ line) => html`<li class="bare"><bdi>${line}</bdi></li>`)}</ol>` : null}`;
}

/** A result that is no object or list. @param {string} text */
function scalar(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
