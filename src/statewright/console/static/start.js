// The form that starts an execution, as a page and as a dialog.

import { html, useEffect, useState } from './vendor.js';
import { call, read, regionOf } from './api.js';
import { executionArn, machineOf, nameProblem, uniqueName } from './acting.js';
import { Dialog, useAction } from './dialogs.js';
import { ago, duration, iso, plural } from './format.js';
import { StatusBadge } from './icons.js';
import { Json } from './json.js';
import { JsonField, offered, problemOf } from './json_field.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { VersionField } from './versions.js';

const SNIPPET = 160;

/** The page `start/MACHINE?like=EXECUTION`. @param {any} props */
export function Page({ route: { id: arn, query }, server }) {
  const machineArn = machineOf(arn);
  const name = machineArn.split(':').pop();
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a><span>/</span><a href=${format('executions', '', { machine: machineArn })}><bdi>${name}</bdi></a><span>/</span>Start</div>
    <h1>Start <bdi>${name}</bdi></h1></header>
    <section class="card narrow"><${StartForm} arn=${arn} like=${query.like ?? ''} server=${server} /></section>`;
}

/** @param {{arn: string, like?: string, server: any, onClose: () => void}} props */
export function StartDialog({ arn, like = '', server, onClose }) {
  return html`<${Dialog} title=${`Start ${machineOf(arn).split(':').pop()}`} wide onClose=${onClose}><${StartForm} arn=${arn} like=${like} server=${server} onClose=${onClose} /><//>`;
}

/**
 * @param {{arn: string, like?: string, server: any, onClose?: () => void}} props
 *   `arn` is that of the machine, a version or an alias; `like` that of an execution whose input is taken.
 */
export function StartForm({ arn, like = '', server, onClose }) {
  const machineArn = machineOf(arn);
  const region = regionOf(machineArn);
  const [machine, setMachine] = useState(/** @type {any} */ (null));
  const [trouble, setTrouble] = useState(/** @type {Error | null} */ (null));
  const [input, setInput] = useState(/** @type {string | null} */ (like ? null : '{}'));
  const load = () => {
    setTrouble(null);
    Promise.all([
      call('states', 'DescribeStateMachine', { stateMachineArn: machineArn, includedData: 'METADATA_ONLY' }, undefined, region),
      like ? read('run/input', { arn: like }) : null,
    ]).then(([found, given]) => {
      setMachine(found);
      if (given) setInput(offered(given.input));
    }, setTrouble);
  };
  useEffect(load, [machineArn, like]);
  if (trouble) return html`<${Problem} problem=${trouble} again=${load} />`;
  if (!machine || input === null) return html`<p class="faint pad">Reading…</p>`;
  if (server && !server.mayWrite) return html`<p class="pad">This sign-in may only read, and starts nothing.</p>`;
  return html`<${Form} arn=${arn} machineArn=${machineArn} isExpress=${machine.type === 'EXPRESS'} input=${input} onInput=${setInput} onClose=${onClose} />`;
}

/** @param {any} props */
function Form({ arn, machineArn, isExpress, input, onInput, onClose }) {
  const [target, setTarget] = useState(arn);
  const [name, setName] = useState('');
  const [own, setOwn] = useState(/** @type {string} */ (uniqueName()));
  const [waits, setWaits] = useState(isExpress);
  const [result, setResult] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const region = regionOf(machineArn);
  const wrong = nameProblem(name);
  const mayStart = !wrong && !problemOf(input);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!mayStart) return;
    // The name makes the start one start, however often it is sent.
    const request = { stateMachineArn: target, input, name: name || own };
    run(async () => {
      if (isExpress && waits) {
        setResult(null);
        setResult(await call('states', 'StartSyncExecution', request, undefined, region));
      } else {
        const { executionArn: started } = await call('states', 'StartExecution', request, undefined, region).catch((refusal) => {
          // No other execution has the random name: an earlier answer was lost.
          if (refusal.code === 'ExecutionAlreadyExists' && !name) return { executionArn: executionArn(machineArn, own) };
          throw refusal;
        });
        if (isExpress) setResult({ executionArn: started, status: 'STARTED' });
        else go(format('execution', started));
      }
      setOwn(uniqueName());
    });
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const taken = /** @type {any} */ (problem)?.code === 'ExecutionAlreadyExists';
  return html`<form class="form" autocomplete="off" onSubmit=${submit} onKeyDown=${press}>
    <div class="fields"><${VersionField} id="definition" machineArn=${machineArn} value=${target} first=${[[machineArn, 'as it is now']]} onChange=${setTarget} />
      <div class="field"><label for="name">Name, if it matters</label><input id="name" value=${name} maxlength="100" autocomplete="off" spellcheck="false" aria-invalid=${wrong ? 'true' : 'false'} aria-describedby="name-said"
        onInput=${(/** @type {any} */ event) => setName(event.target.value)} /><p class="hint" id="name-said">${wrong ? html`<span class="fail">${wrong}</span>` : html`<span class="faint">${name ? 'one execution of this name' : 'a random one otherwise'}</span>`}</p></div></div>
    <${JsonField} id="input" label="Input" value=${input} rows=${12} onChange=${onInput} />
    <${RecentInputs} machineArn=${machineArn} onChoose=${(/** @type {string} */ text) => onInput(offered(text))} />
    ${isExpress ? html`<label class="check"><input type="checkbox" checked=${waits} onChange=${(/** @type {any} */ event) => setWaits(event.target.checked)} /> Wait for the result, five minutes at most</label>` : null}
    ${problem ? html`<p class="fail" role="alert">${taken ? html`There is an execution of this name already, with another input. <a href=${format('execution', executionArn(machineArn, name || own))}>Show it</a>` : problem.message}</p>` : null}
    <footer>${onClose ? html`<button type="button" class="action" onClick=${onClose}>Cancel</button>` : null}
      <button class="action primary" disabled=${isBusy || !mayStart} title="Ctrl+Enter">${isBusy ? (isExpress && waits ? 'Running…' : 'Starting…') : 'Start'}</button></footer>
    ${result ? html`<${Result} result=${result} />` : null}</form>`;
}

/** @param {any} props */
function Result({ result }) {
  const { output, error, cause, status, startDate, stopDate } = result;
  if (status === 'STARTED') return html`<div class="result" role="status"><p>It has started. What an Express execution does is in the log group of its state machine, where that has one.</p></div>`;
  const shown = valueOf(output);
  return html`<div class="result" role="status"><p><${StatusBadge} status=${status} /> <span class="faint">took ${duration(stopDate - startDate)}</span></p>
    ${error ? html`<p class="fail"><bdi><b>${error}</b></bdi>${cause ? html`: <bdi>${cause}</bdi>` : ''}</p>` : null}
    ${output !== undefined && output !== null ? html`<h3>Output</h3><div class="card"><${Json} value=${shown} /></div>` : null}</div>`;
}

/** @param {string | undefined} text */
function valueOf(text) {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return text;
  }
}

/** @param {{machineArn: string, onChoose: (text: string) => void}} props */
function RecentInputs({ machineArn, onChoose }) {
  const { found } = useRead('machine/inputs', { arn: machineArn });
  const now = Date.now();
  if (!found?.inputs.length) return null;
  return html`<details class="recent"><summary>${plural(found.inputs.length, 'recent input')}</summary><ul>${found.inputs.map((/** @type {any} */ one) => html`<li key=${one.arn}>
    <button type="button" disabled=${one.text === null} onClick=${() => onChoose(one.text)}><code>${one.text === null ? `${one.length.toLocaleString('en-GB')} characters` : one.text.slice(0, SNIPPET) + (one.text.length > SNIPPET ? '…' : '')}</code>
      <span class="faint" title=${iso(one.startedMs)}><bdi>${one.name}</bdi> · ${ago(one.startedMs, now)}</span></button></li>`)}</ul></details>`;
}
