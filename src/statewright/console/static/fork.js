// The dialog that forks an execution: a new one, which begins at a state that this one has reached.

import { html, useEffect, useMemo, useState } from './vendor.js';
import { call, read, regionOf } from './api.js';
import { executionArn as executionOf, nameProblem, uniqueName } from './acting.js';
import { Dialog, useAction } from './dialogs.js';
import { plain, plural } from './format.js';
import { JsonField, offered, problemOf } from './json_field.js';
import { kindOf } from './json_text.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';
import { VersionField } from './versions.js';

const OWN = 'as it ran';

/** @param {{run: any, arn: string, point: {state: any, visit: number, isAround: boolean}, chosen: string, onClose: () => void}} props */
export function ForkDialog({ run, arn, point, chosen, onClose }) {
  const [moment, setMoment] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const { name } = point.state;
  const load = () => {
    setProblem(null);
    read('fork', { arn, state: name, visit: point.visit }).then(setMoment, setProblem);
  };
  useEffect(load, [arn, name, point.visit]);
  return html`<${Dialog} title=${`Fork from ${plain(name)}`} wide onClose=${onClose}>
    ${problem ? html`<${Problem} problem=${problem} again=${load} />` : !moment ? html`<p class="faint pad">Reading…</p>` : html`<${Form} run=${run} arn=${arn} point=${point} chosen=${chosen} moment=${moment} onClose=${onClose} />`}<//>`;
}

/** @param {any} props */
function Form({ run, arn, point, chosen, moment, onClose }) {
  const { machineArn } = run.head;
  const first = useMemo(() => ({ input: offered(moment.input), variables: offered(moment.variables) }), [moment]);
  const [input, setInput] = useState(first.input);
  const [variables, setVariables] = useState(first.variables);
  const [target, setTarget] = useState(OWN);
  const [name, setName] = useState('');
  const own = useMemo(uniqueName, []);
  const { isBusy, problem, run: act } = useAction();
  const wrong = nameProblem(name);
  const notObject = !problemOf(variables) && kindOf(variables) !== 'object';
  // What is not changed is not sent, so that hidden values in it stay as they are.
  const mayFork = !wrong && !notObject && (input === first.input || !problemOf(input)) && (variables === first.variables || !problemOf(variables));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!mayFork) return;
    const request = {
      executionArn: arn, stateName: point.state.name, visit: point.visit, name: name || own,
      ...(input === first.input ? {} : { input }), ...(variables === first.variables ? {} : { variables }),
      ...(target === OWN ? {} : { stateMachineArn: target }),
    };
    act(async () => {
      const { executionArn } = await call('statewright', 'ForkExecution', request, undefined, regionOf(arn)).catch((refusal) => {
        // No other execution has the random name: an earlier answer was lost.
        if (refusal.code === 'ExecutionAlreadyExists' && !name) return { executionArn: executionOf(machineArn, own) };
        throw refusal;
      });
      onClose();
      go(format('execution', executionArn));
    });
  };
  return html`<form class="form" autocomplete="off" onSubmit=${submit}>
    <p>A new execution begins at <b><bdi>${point.state.name}</bdi></b>${point.state.visits.length > 1 ? `, as at its visit ${point.visit.toLocaleString('en-GB')} of ${point.state.visits.length.toLocaleString('en-GB')}` : ''}. This one stays as it is.
      ${point.isAround ? html` Forks begin at states of the state machine itself, and <bdi>${chosen}</bdi> is inside this one.` : null}</p>
    <${Repeats} moment=${moment} />
    <${JsonField} id="fork-input" label="Input of the state" value=${input} rows=${8} onChange=${setInput} />
    <${JsonField} id="fork-variables" label="Variables" value=${variables} rows=${4} onChange=${setVariables}
      hint=${notObject ? html`<span class="fail">Variables are a JSON object, with a member for each.</span>` : html`<span class="faint">What is left out keeps its value.</span>`} />
    <div class="fields"><${VersionField} id="fork-definition" machineArn=${machineArn} value=${target} first=${[[OWN, OWN], [machineArn, 'as it is now']]} onChange=${setTarget} />
      <div class="field"><label for="fork-name">Name, if it matters</label><input id="fork-name" value=${name} maxlength="100" autocomplete="off" spellcheck="false" aria-invalid=${wrong ? 'true' : 'false'} aria-describedby="fork-name-said"
        onInput=${(/** @type {any} */ event) => setName(event.target.value)} /><p class="hint" id="fork-name-said">${wrong ? html`<span class="fail">${wrong}</span>` : html`<span class="faint">${name ? 'one execution of this name' : 'a random one otherwise'}</span>`}</p></div></div>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy || !mayFork}>${isBusy ? 'Forking…' : `Fork from ${plain(point.state.name)}`}</button></footer></form>`;
}

/** The name in an ARN or an address. @param {string} target */
function shortName(target) {
  return target.replace(/^arn:(?:[^:]*:){5}|^[a-z]+:\/\/.*\//, '') || target;
}

/** The tasks that ran from there on. @param {any} props */
function Repeats({ moment: { repeats, more } }) {
  const effects = repeats.filter((/** @type {any} */ one) => !one.reads);
  const reads = repeats.filter((/** @type {any} */ one) => one.reads);
  if (!repeats.length) return html`<p class="note t-ok">No task ran from here on, so nothing is repeated.</p>`;
  const row = (/** @type {any} */ one) => html`<tr key=${`${one.resource} ${one.target}`}><td class="end">${one.count.toLocaleString('en-GB')} ×</td><td class="mono">${one.resource}</td>
    <td class="name">${one.target ? html`<bdi title=${one.target}>${shortName(one.target)}</bdi>` : html`<span class="faint">target not known</span>`}</td><td class="faint">${one.states.length ? html`by <bdi>${one.states.slice(0, 3).map(plain).join(', ')}</bdi>${one.states.length > 3 ? ` and ${one.states.length - 3} more` : ''}` : ''}</td></tr>`;
  return html`<div class=${`note ${effects.length ? 't-wait' : 't-ok'}`}><p>${effects.length
    ? html`<b>${plural(effects.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.count, 0), 'call')}</b> ran from here on. The new execution makes such calls again, with their effects:`
    : 'Only calls that read ran from here on; the new execution makes such calls again:'}</p>
    <table class="list" aria-label="Calls that ran from here on"><tbody>${effects.map(row)}${reads.map(row)}</tbody></table>
    ${more ? html`<p>and ${plural(more, 'other kind')} of calls</p>` : null}</div>`;
}
