// The form that starts a simulation: a scenario as text, or one that fits a machine's real histories.

import { html, useEffect, useState } from './vendor.js';
import { act, read } from './api.js';
import { useAction } from './dialogs.js';
import { downloadText } from './downloads.js';
import { go } from './navigation.js';
import { format } from './route.js';

const EXAMPLE = `name: a burst of messages
queues:
  dead: {}
  jobs: {visibility: 10m, deadLetter: dead, maxReceiveCount: 3}
functions:
  work: {duration: 30s, timeout: 60, memory: 512}
mappings:
  - {queue: jobs, function: work, batchSize: 1}
arrivals:
  - {queue: jobs, burst: 2000, over: 60s}
`;

/** @param {{from: string, server: any}} props  `from` is the ARN of a machine */
export function Start({ from, server }) {
  const [scenario, setScenario] = useState('');
  const [files, setFiles] = useState(/** @type {Record<string, string>} */ ({}));
  const [notes, setNotes] = useState(/** @type {string[]} */ ([]));
  const { isBusy, problem, run } = useAction();
  const name = /^name:\s*"?([^"\n]*)"?/m.exec(scenario)?.[1].trim() || 'scenario';
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const { id } = await act('simulations/start', { name, scenario, files });
      go(format('simulations', id));
    });
  };
  const take = (/** @type {any} */ found) => {
    setScenario(found.scenario);
    setFiles(found.files);
    setNotes(found.notes);
  };
  const add = async (/** @type {any} */ event) => {
    const chosen = /** @type {File[]} */ ([...event.target.files]);
    const texts = await Promise.all(chosen.map(async (one) => [one.name, await one.text()]));
    setFiles({ ...files, ...Object.fromEntries(texts) });
  };
  if (server && !server.mayWrite) return html`<p class="card pad">This sign-in may only read: it starts no simulations.</p>`;
  return html`<${Fit} from=${from} onFit=${take} /><form class="card form" onSubmit=${start}>
    <label>Scenario (YAML)<textarea rows="12" spellcheck=${false} required value=${scenario} placeholder="machines, functions, queues, mappings and arrivals" onInput=${(/** @type {any} */ event) => setScenario(event.target.value)}></textarea></label>
    ${notes.length ? html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>` : null}
    <div class="files">${Object.entries(files).map(([file, text]) => html`<span class="badge t-idle" key=${file}><button type="button" class="link" title="Save this file" onClick=${() => downloadText(text, file)}>${file}</button><button type="button" class="plain" aria-label=${`Leave out ${file}`} onClick=${() => setFiles(Object.fromEntries(Object.entries(files).filter(([one]) => one !== file)))}>×</button></span>`)}
      <label>Files that it names <input type="file" multiple accept=".json,.yaml,.yml,.csv,.jsonl" onChange=${add} /></label></div>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${() => take({ scenario: EXAMPLE, files: {}, notes: [] })}>An example</button>
      <button type="button" class="action" disabled=${!scenario} onClick=${() => downloadText(scenario, 'scenario.yaml')}>Save the scenario</button>
      <button class="action primary" disabled=${isBusy || !scenario.trim()}>${isBusy ? 'Starting…' : 'Start'}</button></footer></form>`;
}

/** Asks the server for a scenario of a machine. @param {{from: string, onFit: (found: any) => void}} props */
function Fit({ from, onFit }) {
  const [machines, setMachines] = useState(/** @type {any[]} */ ([]));
  const [arn, setArn] = useState(from);
  const [perMinute, setPerMinute] = useState(60);
  const [minutes, setMinutes] = useState(10);
  const { isBusy, problem, run } = useAction();
  useEffect(() => {
    const stop = new AbortController();
    read('machines', {}, stop.signal).then((found) => setMachines(found.machines.filter((/** @type {any} */ one) => one.type === 'STANDARD')), () => undefined);
    return () => stop.abort();
  }, []);
  const fit = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => onFit(await read('simulations/scenario', { arn, perMinute, minutes })));
  };
  const known = machines.some((one) => one.arn === arn) || !arn ? machines : [{ arn, name: arn.split(':')[6] ?? arn }, ...machines];
  return html`<form class="card form" onSubmit=${fit}><h2>From a state machine</h2><p>Models with the latencies, failures and answers of its last executions stand in for its tasks. Nothing is called, and nothing has a side effect.</p>
    <div class="fields"><label>State machine <select required value=${arn} onChange=${(/** @type {any} */ event) => setArn(event.target.value)}><option value="">Choose one</option>${known.map((one) => html`<option key=${one.arn} value=${one.arn} selected=${one.arn === arn}>${one.name}</option>`)}</select></label>
      <label>Executions a minute <input type="number" min="1" max="60000" required value=${perMinute} onInput=${(/** @type {any} */ event) => setPerMinute(Number(event.target.value))} /></label>
      <label>For minutes <input type="number" min="1" max="10080" required value=${minutes} onInput=${(/** @type {any} */ event) => setMinutes(Number(event.target.value))} /></label>
      <button class="action" disabled=${isBusy || !arn}>${isBusy ? 'Reading…' : 'Make a scenario'}</button></div>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}</form>`;
}
