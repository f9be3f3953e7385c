// The Workbench: a definition as text and its graph beside it; one state tried, the whole run in virtual time, saved.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { act, call } from './api.js';
import { go, route } from './navigation.js';
import { Editor } from './editor.js';
import { plural } from './format.js';
import { Graph } from './graph.js';
import { Icon } from './icons.js';
import { Later } from './later.js';
import { stillRun } from './machine_graph.js';
import { makeRun } from './model.js';
import { Tabs } from './parts.js';
import { format } from './route.js';
import { EXAMPLES, exampleDraft, indented, isChanged, keepDraft, keptDraft, languageOf } from './workbench_text.js';

const REST_MS = 300;
/** What is loaded when it is first shown. @type {Record<string, () => Promise<any>>} */
const PARTS = {
  try: () => import('./workbench_try.js').then((found) => found.TryPanel),
  run: () => import('./workbench_run.js').then((found) => found.RunPanel),
  version: () => import('./workbench_save.js').then((found) => found.NewVersion),
  machine: () => import('./workbench_save.js').then((found) => found.NewMachine),
};

/** @param {any} props */
export function Page({ route: { query }, server }) {
  const first = useMemo(() => keptDraft() ?? exampleDraft('order'), []);
  const [draft, setDraft] = useState(first);
  const [isKept, setKept] = useState(true);
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [place, setPlace] = useState(/** @type {any} */ (null));
  const [trial, setTrial] = useState(/** @type {any} */ (null));
  const { seen, isReading } = useSeen(draft);
  const change = (/** @type {any} */ more) => setDraft((/** @type {any} */ before) => ({ ...before, ...more }));
  const set = (/** @type {any} */ more) => go(format('workbench', '', { ...route.value.query, ...more }), true);
  useEffect(() => {
    setKept(keepDraft(draft));
  }, [draft]);
  useEffect(() => setTrial(null), [draft.text]);
  useLeaving(isChanged(draft));
  const open = async (/** @type {string} */ arn) => {
    try {
      const found = await call('states', 'DescribeStateMachine', { stateMachineArn: arn });
      const text = indented(found.definition) ?? found.definition;
      const source = sourceOf(found);
      const { input, mocks } = source.arn === draft.source?.arn ? draft : { input: '{}', mocks: '' };
      setDraft({ text, saved: text, language: 'json', input, mocks, source });
      setProblem(null);
      set({ machine: null, state: null });
    } catch (failure) {
      setProblem(/** @type {Error} */ (failure));
    }
  };
  // Unchanged text may be of an earlier revision: it is read again.
  const wanted = query.machine && (query.machine !== draft.source?.arn || !isChanged(draft)) ? query.machine : null;
  useEffect(() => {
    if (wanted && !isChanged(draft)) open(wanted);
    else if (query.machine && !wanted) set({ machine: null });
  }, [wanted]);
  const chosen = seen?.states.some((/** @type {any} */ one) => one.name === query.state) ? query.state : '';
  const onSelect = (/** @type {string} */ name) => {
    set({ state: name });
    const line = seen?.states.find((/** @type {any} */ one) => one.name === name)?.line;
    if (line) setPlace({ line, column: 1, turn: (place?.turn ?? 0) + 1, quiet: true });
  };
  const shared = { draft, change, seen, server, chosen, onSelect, trial, setTrial, definition: definitionText(draft, seen) };
  const problems = seen?.findings ?? [];
  const errors = problems.filter((/** @type {any} */ one) => one.severity === 'ERROR').length;
  const tab = ['problems', 'try', 'run'].includes(query.tab) ? query.tab : 'problems';
  return html`<${Head} draft=${draft} change=${change} setDraft=${setDraft} open=${open} seen=${seen} server=${server} isKept=${isKept} definition=${shared.definition} />
    ${problem ? html`<div class="banner fail" role="alert"><span>${problem.message}</span></div>` : null}
    ${wanted && isChanged(draft) ? html`<div class="banner wait" role="alert"><span>There are changes here that are not saved, of <bdi>${draft.source?.name ?? 'a new definition'}</bdi>.</span>
      <button class="action" onClick=${() => open(wanted)}>Drop them, and open <bdi>${wanted.split(':').slice(6).join(':')}</bdi></button><button class="action" onClick=${() => set({ machine: null })}>Keep them</button></div>` : null}
    <div class="bench"><section class="card wb-source" aria-label="Definition">
        <${Editor} value=${draft.text} label="Definition" language=${draft.language} problems=${problems} place=${place} onChange=${(/** @type {string} */ text) => change({ text })} />
        <p class="wb-hint faint">${isReading ? 'Reading…' : errors ? plural(errors, 'error') : problems.length ? plural(problems.length, 'warning') : 'No problems'} · Esc, then Tab leaves the text</p></section>
      <${Drawn} seen=${seen} trial=${trial} chosen=${chosen} onSelect=${onSelect} icons=${server?.icons} /></div>
    <section class="card wb-lower"><${Tabs} items=${[['problems', 'Problems', html`<span class="pip">${problems.length}</span>`], ['try', 'Try a state'], ['run', 'Run']]}
        chosen=${tab} label="Tools" panel="tool" onChoose=${(/** @type {string} */ one) => set({ tab: one })} />
      <div class="toolbody" role="tabpanel" id="tool" aria-labelledby=${`tool-${tab}`} tabindex="0">
        ${tab === 'problems' ? html`<${Problems} found=${problems} more=${seen?.more ?? 0} isRead=${seen !== null} onPlace=${(/** @type {any} */ one) => setPlace({ line: one.line, column: one.column, turn: (place?.turn ?? 0) + 1 })} />`
          : html`<${Later} key=${tab} load=${PARTS[tab]} ...${shared} />`}</div></section>`;
}

/** @param {any} found  as DescribeStateMachine answers */
export function sourceOf(found) {
  const [arn] = [found.stateMachineArn.split(':').slice(0, 7).join(':')];
  return { arn, name: found.name, roleArn: found.roleArn, revisionId: found.revisionId ?? '', type: found.type };
}

/** The definition as JSON text; null while it cannot be read. @param {any} draft @param {any} seen */
function definitionText(draft, seen) {
  if (!seen?.json || seen.text !== draft.text) return null;
  return draft.language === 'json' ? draft.text : seen.json;
}

/** What the server says of the text, after a rest in typing. @param {any} draft */
function useSeen(draft) {
  const [held, setHeld] = useState(/** @type {any} */ (null));
  const [isReading, setReading] = useState(true);
  const last = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    setReading(true);
    const timer = setTimeout(async () => {
      try {
        const found = await act('graph', { text: draft.text, language: draft.language, type: draft.source?.type ?? 'STANDARD' }, stop.signal);
        if (found.drawing) last.current = { drawing: found.drawing, definition: found.definition };
        setHeld({ ...found, ...(found.drawing ? {} : last.current), isOld: !found.drawing, text: draft.text });
      } catch (problem) {
        if (stop.signal.aborted) return;
        const message = /** @type {Error} */ (problem).message;
        setHeld((/** @type {any} */ before) => ({ states: [], tasks: [], ...before, more: 0, json: null, text: draft.text, findings: [{ severity: 'ERROR', code: '', message, line: 1, column: 1 }] }));
      }
      if (!stop.signal.aborted) setReading(false);
    }, held ? REST_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [draft.text, draft.language, draft.source]);
  return { seen: held, isReading };
}

/** Asks before the tab closes with unsaved text. @param {boolean} isOpen */
function useLeaving(isOpen) {
  useEffect(() => {
    if (!isOpen) return undefined;
    const ask = (/** @type {BeforeUnloadEvent} */ event) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isOpen]);
}

/** @param {any} props */
function Head({ draft, change, setDraft, open, seen, server, isKept, definition }) {
  const [machines, setMachines] = useState(/** @type {any[] | null} */ (null));
  const [refused, setRefused] = useState('');
  const list = () => machines ?? call('states', 'ListStateMachines', { maxResults: 200 }).then((found) => setMachines(found.stateMachines), (problem) => setRefused(problem.message));
  const ask = () => !isChanged(draft) || confirm('Drop the changes that are not saved?');
  const choose = (/** @type {any} */ event) => {
    const { value } = event.target;
    event.target.value = '';
    if (value && ask()) open(value);
  };
  const example = (/** @type {any} */ event) => {
    const { value } = event.target;
    event.target.value = '';
    if (value && ask()) setDraft(exampleDraft(value));
  };
  const tidy = () => {
    const text = indented(draft.text);
    if (text === null) setRefused('The text is no JSON that can be indented.');
    else {
      setRefused('');
      change({ text });
    }
  };
  const speak = (/** @type {any} */ event) => {
    const language = event.target.value;
    const json = language === 'json' && seen?.json && seen.text === draft.text && languageOf(draft.text) === 'yaml' ? indented(seen.json) : null;
    change(json ? { language, text: json } : { language });
  };
  return html`<header class="head"><div class="title"><h1>Workbench</h1>
      ${draft.source ? html`<a class="badge t-accent" href=${format('machine', draft.source.arn)}><bdi>${draft.source.name}</bdi></a>` : html`<span class="badge t-idle">New definition</span>`}
      ${isChanged(draft) ? html`<span class="badge t-wait">Not saved</span>` : null}
      <div class="actions"><select aria-label="Open a state machine" onFocus=${list} onMouseDown=${list} onChange=${choose}><option value="">Open…</option>
          ${(machines ?? []).map((one) => html`<option value=${one.stateMachineArn}>${one.name}</option>`)}</select>
        <select aria-label="Open an example" onChange=${example}><option value="">Examples</option>${Object.entries(EXAMPLES).map(([name, one]) => html`<option value=${name}>${one.title}</option>`)}</select>
        <select aria-label="Language of the text" value=${draft.language} onChange=${speak}><option value="json">JSON</option><option value="yaml">YAML</option></select>
        <button class="action" disabled=${draft.language !== 'json'} title=${draft.language === 'json' ? 'Indent the text' : 'Only JSON can be formatted'} onClick=${tidy}>Format</button>
        <${SaveButton} draft=${draft} setDraft=${setDraft} server=${server} definition=${definition} /></div></div>
    ${refused ? html`<p class="fail" role="alert">${refused}</p>` : null}
    ${isKept ? null : html`<p class="fail" role="alert">The text is too long to be kept over a reload of the page.</p>`}</header>`;
}

/** @param {any} props */
function SaveButton({ draft, setDraft, server, definition }) {
  const [isOpen, setOpen] = useState('');
  const may = server?.mayWrite ?? false;
  const why = !may ? 'This sign-in may only read.' : definition === null ? 'The text cannot be read; see the problems.' : '';
  return html`${draft.source ? html`<button class="action" disabled=${Boolean(why)} title=${why} onClick=${() => setOpen('machine')}>Save as…</button>` : null}
    <button class="action primary" disabled=${Boolean(why)} title=${why} onClick=${() => setOpen(draft.source ? 'version' : 'machine')}>Save</button>
    ${isOpen && definition !== null ? html`<${Later} load=${PARTS[isOpen]} draft=${draft} setDraft=${setDraft} server=${server} definition=${definition} onClose=${() => setOpen('')} />` : null}`;
}

/** @param {any} props */
function Drawn({ seen, trial, chosen, onSelect, icons }) {
  const still = useMemo(() => (seen?.drawing ? stillRun(seen.drawing, seen.definition) : null), [seen?.drawing]);
  const run = useMemo(() => (trial?.run ? makeRun(trial.run) : null), [trial]);
  if (seen?.isTooLarge) return html`<section class="card graph" aria-label="Graph"><p class="faint pad">More than 1,000 states are not drawn while they are written.</p></section>`;
  const shown = run ?? still;
  if (!shown) return html`<section class="card graph" aria-label="Graph"><p class="faint pad">The graph appears as soon as the text can be read.</p></section>`;
  return html`<div class="wb-drawn"><${Graph} run=${shown} at=${shown.length} selected=${chosen} icons=${icons} onSelect=${onSelect} />
    ${seen?.isOld && !run ? html`<p class="wb-old badge t-wait"><${Icon} name="clock" size=${12} />as it was before the last mistake</p>` : run ? html`<p class="wb-old badge t-accent"><${Icon} name="play" size=${12} />the last run</p>` : null}</div>`;
}

/** @param {any} props */
function Problems({ found, more, isRead, onPlace }) {
  if (!found.length) return html`<p class="faint pad">${isRead ? 'Nothing is wrong with this definition.' : 'Reading…'}</p>`;
  return html`<ul class="wb-problems">${found.map((/** @type {any} */ one) => html`<li><button onClick=${() => onPlace(one)}>
      <span class=${one.severity === 'ERROR' ? 'c-fail' : 'c-wait'}><${Icon} name=${one.severity === 'ERROR' ? 'cross' : 'bolt'} size=${13} /><span class="unseen">${one.severity === 'ERROR' ? 'Error' : 'Warning'}</span></span>
      <code class="at">${one.line ? `${one.line}:${one.column}` : ''}</code><span class="words"><bdi>${one.message}</bdi>${one.hint ? html` <span class="faint"><bdi>${one.hint}</bdi></span>` : null}</span><code class="faint">${one.code}</code></button></li>`)}</ul>
    ${more ? html`<p class="faint pad">and ${more.toLocaleString('en-GB')} more</p>` : null}`;
}
