// One state of the definition tried by itself, by the service's TestState, with each step of its data.

import { html, useEffect, useRef, useState } from './vendor.js';
import { call } from './api.js';
import { useAction } from './dialogs.js';
import { StatusBadge } from './icons.js';
import { Json } from './json.js';

/** @type {[string, string][]} */
const STEPS = [
  ['input', 'Input'], ['afterInputPath', 'After InputPath'], ['afterParameters', 'After Parameters'], ['afterArguments', 'Arguments'],
  ['afterItemsPath', 'After ItemsPath'], ['afterItemSelector', 'After ItemSelector'], ['afterItemBatcher', 'After ItemBatcher'],
  ['afterItemsPointer', 'After ItemsPointer'], ['request', 'Request'], ['response', 'Response'], ['result', 'Result'],
  ['afterResultSelector', 'After ResultSelector'], ['afterResultPath', 'After ResultPath'], ['variables', 'Variables'], ['errorDetails', 'Error details'],
];
const KINDS = ['returns', 'throws', 'real'];

/** @param {any} props */
export function TryPanel({ draft, seen, server, chosen, onSelect, definition }) {
  const names = (seen?.states ?? []).map((/** @type {any} */ one) => one.name);
  const state = chosen || names[0] || '';
  const type = seen?.states.find((/** @type {any} */ one) => one.name === state)?.type;
  const isCalled = ['Task', 'Map', 'Parallel'].includes(type);
  const [form, setForm] = useState({ input: draft.input || '{}', variables: '', kind: 'returns', result: '{}', error: 'States.TaskFailed', cause: '', strict: false });
  const [found, setFound] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const turn = useRef(0);
  useEffect(() => {
    turn.current += 1;
    setFound(null);
  }, [state, draft.text]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setForm({ ...form, [name]: event.target.type === 'checkbox' ? event.target.checked : event.target.value });
  const tryIt = (/** @type {Event} */ event) => {
    event.preventDefault();
    turn.current += 1;
    const mine = turn.current;
    run(async () => {
      const answer = await call('states', 'TestState', requestOf(form, { definition, state, isCalled, roleArn: draft.source?.roleArn }));
      if (turn.current === mine) setFound(answer);
    });
  };
  if (!names.length) return html`<p class="faint pad">There is no state to try.</p>`;
  const may = server?.mayWrite ?? false;
  return html`<div class="wb-two"><form class="form" onSubmit=${tryIt}>
      <label>State <select value=${state} onChange=${(/** @type {any} */ event) => onSelect(event.target.value)}>${names.slice(0, 500).map((/** @type {string} */ name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label>Input <textarea rows="4" spellcheck="false" value=${form.input} onInput=${set('input')}></textarea></label>
      <label>Variables, as an object <textarea rows="2" spellcheck="false" placeholder='{"total": 7}' value=${form.variables} onInput=${set('variables')}></textarea></label>
      ${isCalled ? html`<fieldset><legend>Its answer</legend>${KINDS.map((kind) => html`<label class="choice"><input type="radio" name="kind" value=${kind} checked=${form.kind === kind} disabled=${kind === 'real' && type !== 'Task'} onChange=${set('kind')} />
          ${{ returns: 'this result', throws: 'this error', real: 'of the service itself: it is called' }[kind]}</label>`)}</fieldset>
        ${form.kind === 'returns' ? html`<label>Result <textarea rows="4" spellcheck="false" value=${form.result} onInput=${set('result')}></textarea></label>
          <label class="choice"><input type="checkbox" checked=${form.strict} onChange=${set('strict')} /> It must have the form of the API's answer</label>`
          : form.kind === 'throws' ? html`<label>Error <input value=${form.error} onInput=${set('error')} /></label><label>Cause <input value=${form.cause} onInput=${set('cause')} /></label>` : null}` : null}
      <footer><button class="action primary" disabled=${!may || isBusy || definition === null} title=${!may ? 'This sign-in may only read.' : definition === null ? 'The text cannot be read; see the problems.' : ''}>${isBusy ? 'Trying…' : 'Try'}</button></footer></form>
    <div class="wb-result" aria-live="polite">${problem ? html`<p class="banner fail" role="alert"><span><bdi>${problem.message}</bdi></span></p>` : null}
      ${found && !problem ? html`<${Result} found=${found} />` : problem ? null : html`<p class="faint pad">The state runs by itself; nothing is stored. Its output and each step of its data stand here.</p>`}</div></div>`;
}

/** @param {any} form @param {{definition: string | null, state: string, isCalled: boolean, roleArn?: string}} more */
export function requestOf(form, { definition, state, isCalled, roleArn }) {
  /** @type {Record<string, any>} */
  const request = { definition, stateName: state, input: form.input.trim() || '{}', inspectionLevel: 'DEBUG' };
  if (form.variables.trim()) request.variables = form.variables;
  if (isCalled && form.kind === 'returns') request.mock = { result: form.result, fieldValidationMode: form.strict ? 'STRICT' : 'NONE' };
  else if (isCalled && form.kind === 'throws') request.mock = { errorOutput: { error: form.error, cause: form.cause }, fieldValidationMode: 'NONE' };
  if (roleArn) request.roleArn = roleArn;
  return request;
}

/** @type {Record<string, string>} */
const WORDS = { SUCCEEDED: 'SUCCEEDED', FAILED: 'FAILED', RETRIABLE: 'PENDING_REDRIVE', CAUGHT_ERROR: 'FAILED' };
/** @type {Record<string, string>} */
const SAID = { RETRIABLE: 'A retrier tries it again.', CAUGHT_ERROR: 'A catcher takes the error.' };

/** @param {any} props */
function Result({ found }) {
  const steps = STEPS.filter(([name]) => found.inspectionData?.[name] !== undefined);
  return html`<p class="wb-row2"><${StatusBadge} status=${found.status === 'RETRIABLE' || found.status === 'CAUGHT_ERROR' ? found.status : WORDS[found.status] ?? found.status} />
      ${SAID[found.status] ? html`<span>${SAID[found.status]}</span>` : null}${found.nextState ? html`<span class="faint">Next: <bdi>${found.nextState}</bdi></span>` : null}</p>
    ${found.error ? html`<p class="banner fail"><span><bdi><b>${found.error}</b></bdi>${found.cause ? html`: <bdi>${found.cause}</bdi>` : ''}</span></p>` : null}
    ${found.output !== undefined ? html`<h3>Output</h3><${Json} value=${parsed(found.output)} />` : null}
    ${steps.map(([name, words]) => html`<details key=${name}><summary>${words}</summary><${Json} value=${parsed(found.inspectionData[name])} /></details>`)}`;
}

/** @param {any} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
