// Tabs of the page of a state machine that draw its definition: the graph, the text, and the difference of two.

import { html, useEffect, useMemo, useState } from './vendor.js';
import { call } from './api.js';
import { CopyButton } from './copy_button.js';
import { Difference } from './definition_diff.js';
import { Editor } from './editor.js';
import { Graph } from './graph.js';
import { Icon } from './icons.js';
import { Json } from './json.js';
import { stillRun } from './machine_graph.js';
import { definitionOf } from './panel.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { qualifierOf } from './route.js';
import { indented } from './workbench_text.js';

/** @param {import('./machine.js').TabProps} props */
export function MachineGraph({ arn, server, query, set }) {
  const { found, problem, again } = useRead('machine/graph', { arn });
  const run = useMemo(() => (found ? stillRun(found.drawing, found.definition) : null), [found]);
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!run) return html`<p class="faint pad">Reading…</p>`;
  const state = query.state ? definitionOf(found.definition, query.state) : null;
  return html`<div class=${state ? 'stage tall2' : 'tall'}><${Graph} run=${run} at=${0} selected=${state ? query.state : ''} icons=${server?.icons} onSelect=${(/** @type {string} */ name) => set({ state: name })} />
    ${state ? html`<aside class="inspector card" aria-label="State"><header class="what"><div><h2><bdi>${query.state}</bdi></h2><p class="faint"><bdi>${String(state.Type ?? '')}</bdi></p></div>
      <button class="plain" aria-label="Close" onClick=${() => set({ state: null })}><${Icon} name="cross" size=${13} /></button></header><div class="tabbody" tabindex="0" role="region" aria-label="Definition of the state"><${Json} value=${state} /></div></aside>` : null}</div>`;
}

/** @param {import('./machine.js').TabProps} props */
export function Definition({ shown }) {
  const text = useMemo(() => indented(shown.definition) ?? shown.definition, [shown]);
  return html`<section class="card textbox"><p class="wb-bar2"><${CopyButton} text=${text} />
    <span class="faint">${text.length.toLocaleString('en-GB')} characters</span></p><${Editor} value=${text} label="Definition" readOnly=${true} /></section>`;
}

/** A definition that is given by its ARN, in words. @param {string} arn */
function sideWords(arn) {
  const [kind, machine, rest] = arn.split(':').slice(5);
  return kind === 'execution' ? `${machine}, as ${rest} ran it` : rest ? `${machine}, version ${rest}` : machine;
}

/** @param {import('./machine.js').TabProps} props */
export function Diff({ machine, query, set, server }) {
  const [versions, setVersions] = useState(/** @type {any[] | null} */ (null));
  const [refused, setRefused] = useState(/** @type {Error | null} */ (null));
  const load = () => call('states', 'ListStateMachineVersions', { stateMachineArn: machine, maxResults: 200 }).then((found) => {
    setVersions(found.stateMachineVersions);
    setRefused(null);
  }, setRefused);
  useEffect(() => {
    load();
  }, [machine]);
  const published = (versions ?? []).map((one) => qualifierOf(one.stateMachineVersionArn));
  // Compare leads here with ARNs of executions, for the definitions that they ran; a version of a link may be gone.
  const names = ['', ...published, ...new Set([query.a, query.b].filter((name) => name && name !== 'now' && !published.includes(name)))];
  // The newest version is often what is there now, and so nothing to compare.
  const a = query.a ?? names[Math.min(2, names.length - 1)];
  const b = query.b ?? '';
  const arnOf = (/** @type {string} */ name) => (name && name !== 'now' ? (name.startsWith('arn:') ? name : `${machine}:${name}`) : machine);
  const { found, problem, again } = useRead(versions && names.length > 1 ? 'machine/difference' : null, { a: arnOf(a), b: arnOf(b) });
  if (refused) return html`<${Problem} problem=${refused} again=${load} />`;
  if (!versions) return html`<p class="faint pad">Reading…</p>`;
  if (names.length === 1) return html`<div class="empty card"><h2>There is no version to compare</h2><p>Publish one in the tab Versions, or with <code>aws stepfunctions publish-state-machine-version</code>.</p></div>`;
  const word = (/** @type {string} */ name) => (name.startsWith('arn:') ? sideWords(name) : name ? `Version ${name}` : 'As it is now');
  const choice = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ key) => html`<label>${label} <select value=${value} onChange=${(/** @type {any} */ event) => set({ [key]: event.target.value || 'now' })}>
    ${names.map((name) => html`<option value=${name}>${word(name)}</option>`)}</select></label>`;
  return html`<section class="card"><div class="wb-bar2">${choice('Before', a === 'now' ? '' : a, 'a')}${choice('After', b === 'now' ? '' : b, 'b')}
      <button class="action" onClick=${() => set({ a: b || 'now', b: a || 'now' })}>Swap</button></div></section>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : found ? html`<${Difference} found=${found} words=${[word(a === 'now' ? '' : a), word(b === 'now' ? '' : b)]} icons=${server?.icons} />` : html`<p class="faint pad">Comparing…</p>`}`;
}
