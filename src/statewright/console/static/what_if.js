// The page What if: a recorded execution replayed on another version or an edited definition, in virtual time.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { act, read } from './api.js';
import { useAction } from './dialogs.js';
import { duration } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { makeRun } from './model.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';
import { loadStyle } from './styles.js';
import { Batch } from './what_if_batch.js';
import { Result } from './what_if_result.js';
import { prettyDefinition } from './what_if_words.js';

const MOST_VERSIONS = 100;

// Timelines look as on the page of an execution.
await loadStyle('run.css');

/** @param {any} props */
export function Page({ route: { id: arn, query }, server }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const load = () => (arn ? ofExecution(arn) : ofMachine(query.machine ?? '')).then((loaded) => {
    setFound(loaded);
    setProblem(null);
  }).catch(setProblem);
  useEffect(() => {
    load();
  }, [arn, query.machine]);
  if (problem && (problem.status >= 500 || problem.code === 'Unreachable')) return html`<${Problem} problem=${problem} again=${load} />`;
  if (problem) {
    return html`<div class="empty"><h1>This cannot be replayed</h1><p>${problem.message}</p><p><a href=${format('executions')}>All executions</a></p></div>`;
  }
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  return html`<${WhatIf} key=${`${arn} ${found.machine}`} arn=${arn} found=${found} query=${query} server=${server} />`;
}

/** @param {string} machine @param {string} operation @param {Record<string, unknown>} request */
function ask(machine, operation, request) {
  return act('call', { service: 'states', operation, request, region: machine.split(':')[3] });
}

/** @param {string} arn */
async function ofExecution(arn) {
  const run = makeRun(await read('run', { arn }));
  const machine = run.head.machineArn;
  // The child machine of a distributed Map has no versions of its own.
  const versions = run.head.mapRunArn ? [] : await versionsOf(machine);
  return { run, machine, versions, own: JSON.stringify(run.definition, null, 2) };
}

/** @param {string} machine */
async function ofMachine(machine) {
  const [own, versions] = await Promise.all([ask(machine, 'DescribeStateMachine', { stateMachineArn: machine }), versionsOf(machine)]);
  return { run: null, machine, versions, own: prettyDefinition(own.definition) };
}

/** The ARNs of the versions of a machine; of one that is gone, none. @param {string} machine @returns {Promise<string[]>} */
function versionsOf(machine) {
  return ask(machine, 'ListStateMachineVersions', { stateMachineArn: machine, maxResults: MOST_VERSIONS })
    .then((found) => found.stateMachineVersions.map((/** @type {any} */ one) => one.stateMachineVersionArn), () => []);
}

/** @param {any} props */
function WhatIf({ arn, found, query, server }) {
  const { run, machine, versions, own } = found;
  const [text, setText] = useState(own);
  // The text of the version that was chosen, or of the execution's own definition.
  const [base, setBase] = useState(own);
  const [mocks, setMocks] = useState(/** @type {import('./what_if_words.js').Mock[]} */ ([]));
  const [result, setResult] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run: perform } = useAction();
  const outcome = useRef(/** @type {any} */ (null));
  const chosen = query.version ?? '';
  const choose = (/** @type {string} */ version) => {
    go(format('what-if', arn, { ...query, version }), true);
    const use = (/** @type {string} */ next) => {
      setText(next);
      setBase(next);
    };
    if (!version) use(own);
    else perform(async () => use(prettyDefinition((await ask(machine, 'DescribeStateMachine', { stateMachineArn: version })).definition)));
  };
  // A definition that was not edited goes by its name: the page may not have all of it.
  const other = text !== base ? { definition: text } : chosen || !run ? { versionArn: chosen || machine } : {};
  useEffect(() => {
    if (chosen) choose(chosen);
  }, []);
  const replay = (/** @type {import('./what_if_words.js').Mock[]} */ given) => perform(async () => {
    const answered = await act('what-if', { arn, ...other, mocks: given.map(({ where, ...mock }) => mock) });
    setMocks(given);
    setResult({ ...answered, text, run: answered.run ? makeRun(answered.run) : null });
    // The answer to a click is looked for: its result stands below the text.
    setTimeout(() => outcome.current?.focus(), 0);
  });
  const name = run ? run.head.name : machine.split(':').pop();
  return html`<header class="head"><div class="crumbs"><a href=${format('machines')}>State machines</a><span>/</span><a href=${format('executions', '', { machine })}>${machine.split(':').pop()}</a><span>/</span>${run ? html`<a href=${format('execution', arn)}>${name}</a><span>/</span>` : null}What if</div>
    <div class="title"><h1>What if: <bdi>${name}</bdi></h1>${run ? html`<${StatusBadge} status=${run.head.status} /><span class="faint">recorded, took ${duration(run.endMs)}</span>` : null}</div>
    <p class="lead">${run ? 'The recorded execution runs again on another definition, in virtual time. ' : ''}Nothing is called and nothing is stored: tasks answer as they did when it was recorded.</p></header>
    <section class="card other" aria-label="Definition"><header><h2>On this definition</h2>
      <label>Version <select value=${chosen} disabled=${isBusy} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
        <option value="">${run ? 'what it ran on' : 'the present one'}</option>${run ? html`<option value=${machine}>the present one</option>` : null}
        ${versions.map((/** @type {string} */ one) => html`<option key=${one} value=${one}>version ${one.split(':').pop()}</option>`)}</select></label>
      <span class="faint">${text === base ? 'edit it as you like' : 'edited'}</span>
      <span class="grown"></span>
      ${text !== base ? html`<button class="action" onClick=${() => setText(base)}>Undo the edits</button>` : null}
      ${run ? html`<button class="action primary" disabled=${isBusy} onClick=${() => replay(mocks)}><${Icon} name="play" size=${12} /> ${isBusy ? 'Replaying…' : 'Replay'}</button>` : null}</header>
      <label class="unseen" for="definition">Definition</label>
      <textarea id="definition" class="definition" spellcheck="false" rows="16" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
      ${problem ? html`<p class="fail pad" role="alert">${problem.message}</p>` : null}</section>
    ${result ? html`<div ref=${outcome} tabindex="-1" class="outcome"><${Result} result=${result} recorded=${run} isOld=${result.text !== text} mocks=${mocks} isBusy=${isBusy} onMocks=${replay} /></div>` : null}
    ${run?.head.mapRunArn ? null : html`<${Batch} machine=${machine} other=${run && !other.definition && !other.versionArn ? { definition: text } : other} text=${text} arn=${arn} server=${server} />`}`;
}
