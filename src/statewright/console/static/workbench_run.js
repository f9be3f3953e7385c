// The whole definition in virtual time, with mocks for its tasks: the run on the graph, its data, and the case it makes.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { actLines, HELD } from './api.js';
import { CaseText } from './case_text.js';
import { Dialog } from './dialogs.js';
import { Editor } from './editor.js';
import { duration, plural } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { Json } from './json.js';
import { firstSelection, makeRun, visitAt } from './model.js';
import { Panel } from './panel.js';
import { firstMocks } from './workbench_text.js';

/** @param {any} props */
export function RunPanel({ draft, change, seen, server, chosen, onSelect, trial, setTrial }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [isOpen, setOpen] = useState(false);
  const [place, setPlace] = useState(/** @type {any} */ (null));
  const stop = useRef(/** @type {AbortController | null} */ (null));
  // The run of a text that has changed since is not of interest.
  useEffect(() => () => stop.current?.abort(), [draft.text]);
  const start = async () => {
    const control = new AbortController();
    stop.current = control;
    setBusy(true);
    setProblem(null);
    try {
      const asked = { text: draft.text, language: draft.language, input: draft.input || '{}', mocks: draft.mocks, name: fileName(draft), case: 'a run in the Workbench' };
      await actLines('workbench/run', asked, (found) => (control.signal.aborted ? null : setTrial(found)), control.signal);
    } catch (failure) {
      if (!control.signal.aborted) setProblem(/** @type {Error} */ (failure));
    }
    setBusy(false);
  };
  const tasks = seen?.tasks ?? [];
  return html`<div class="wb-two"><div class="form">
      <div class="wb-label">Input<div class="small"><${Editor} value=${draft.input} label="Input" onChange=${(/** @type {string} */ input) => change({ input })} /></div></div>
      <div class="wb-label">Mocks: the answers of its ${plural(tasks.length, 'task')}
        <div class="mid"><${Editor} value=${draft.mocks} label="Mocks" language="yaml" problems=${trial?.mockFindings ?? []} place=${place} onChange=${(/** @type {string} */ mocks) => change({ mocks })} /></div></div>
      ${(trial?.mockFindings ?? []).map((/** @type {any} */ one) => html`<button class="link left" onClick=${() => setPlace({ line: one.line, column: one.column, turn: (place?.turn ?? 0) + 1 })}>Line ${one.line}: ${one.message}</button>`)}
      <footer>${tasks.length && !draft.mocks.trim() ? html`<button class="action" onClick=${() => change({ mocks: firstMocks(tasks) })}>Write an answer for each task</button>` : null}
        ${isBusy ? html`<button class="action" onClick=${() => stop.current?.abort()}>Stop</button>` : null}
        <button class="action primary" disabled=${isBusy} onClick=${start}><${Icon} name="play" size=${12} />${isBusy ? 'Running…' : 'Run'}</button></footer></div>
    <div class="wb-result" aria-live="polite">
      ${problem ? html`<p class="banner fail" role="alert"><span>${problem.message}</span></p>` : null}
      ${trial ? html`<${Outcome} trial=${trial} onCase=${() => setOpen(true)} onSelect=${onSelect} />
        ${trial.run ? html`<${Inside} trial=${trial} chosen=${chosen} icons=${server?.icons} />` : null}`
        : problem ? null : html`<p class="faint pad">It runs in virtual time: waits take none, and tasks answer as the mocks say. Nothing is called, nothing is stored.</p>`}</div></div>
    ${isOpen && trial?.case?.text ? html`<${Dialog} title="Save as case" wide=${true} onClose=${() => setOpen(false)}><div class="form">
      <${CaseText} text=${trial.case.text} file=${`${fileName(draft)}${trial.case.ending}`} definition=${`${fileName(draft)}.asl.json`} leftOut=${trial.case.leftOut} problem=${trial.case.problem} /></div><//>` : null}`;
}

/** @param {any} draft */
function fileName(draft) {
  return (draft.source?.name ?? 'machine').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 80) || 'machine';
}

/** @param {any} props */
function Outcome({ trial, onCase, onSelect }) {
  return html`<p class="wb-row2">${trial.status ? html`<${StatusBadge} status=${trial.problem ? 'RUNNING' : trial.status} />` : null}
      ${trial.status ? html`<span class="faint">${duration(trial.durationMs)} in virtual time${trial.transitions ? ` · ${plural(trial.transitions, 'transition')}` : ''}</span>` : null}
      ${trial.case?.text ? html`<button class="action" onClick=${onCase}><${Icon} name="pin" size=${13} />Save as case</button>` : null}</p>
    ${trial.problem ? html`<p class="banner wait" role="alert"><span><bdi>${trial.problem}</bdi></span>${trial.state ? html`<button class="action" onClick=${() => onSelect(trial.state)}>Show <bdi>${trial.state}</bdi></button>` : null}</p>` : null}
    ${trial.error ? html`<p class="banner fail"><span><bdi><b>${trial.error}</b></bdi>${trial.cause ? html`: <bdi>${trial.cause}</bdi>` : ''}</span></p>` : null}
    ${trial.unused.length ? html`<p class="faint">No call took these mocks: <bdi>${trial.unused.slice(0, 10).join(', ')}</bdi></p>` : null}
    ${trial.output !== null ? html`<h3>Output</h3><${Json} value=${parsed(trial.output)} />` : null}`;
}

/** The data of the chosen state, or of the first that needs attention. @param {any} props */
function Inside({ trial, chosen, icons }) {
  // The server does not have this run: the tabs that ask it about one are left out.
  const run = useMemo(() => makeRun({ ...trial.run, head: { ...trial.run.head, arn: HELD } }), [trial]);
  const payloads = useMemo(() => heldPayloads(trial.payloads), [trial]);
  const [tab, setTab] = useState('input');
  const [picked, setPicked] = useState(/** @type {any} */ (null));
  const first = useMemo(() => firstSelection(run), [run]);
  const name = run.byName.has(chosen) ? chosen : first ? run.states[first.state].name : '';
  const state = run.byName.get(name);
  if (!state) return null;
  const visit = visitAt(state, picked?.state === state.index && picked.run === run ? run.visits[picked.visit] : name === chosen ? undefined : first ?? undefined, run.length);
  return html`<${Panel} run=${run} name=${name} visit=${visit} at=${run.length} tab=${tab} payloads=${payloads} icons=${icons} onTab=${setTab}
    onVisit=${(/** @type {any} */ one) => setPicked({ run, state: state.index, visit: one.index })} />`;
}

/** Payloads that came with a run. @param {[number, Record<string, any>][]} events */
export function heldPayloads(events) {
  const byId = new Map(events);
  return {
    /** @param {number} event @param {string} member */
    async read(event, member) {
      const details = byId.get(event);
      if (details === undefined && event > 0 && events.length) return { value: 'Payloads of later events are not shown here.', text: '', isWhole: true, length: 0 };
      const text = details?.[member];
      if (text === undefined || text === null) return null;
      const value = member === 'cause' || typeof text !== 'string' ? text : parsed(text);
      const words = typeof text === 'string' ? text : JSON.stringify(text);
      return { value, text: words, isWhole: !words.endsWith('…'), length: words.length };
    },
  };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
