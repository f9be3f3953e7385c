// Import of a history: a file of this server or the service, shown with the page of an execution. It stays in this tab.

import { html, useRef, useState } from './vendor.js';
import { act, HELD, held } from './api.js';
import { useAction } from './dialogs.js';
import { plural } from './format.js';
import { answerOf } from './local.js';
import { go } from './navigation.js';
import { format } from './route.js';

const MOST_HELD = 8;
const MOST_BYTES = 30 * 1024 * 1024;

/** @param {any} _props */
export function Page(_props) {
  const [history, setHistory] = useState({ text: '', name: '' });
  const [definition, setDefinition] = useState({ text: '', name: '' });
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const show = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const name = (history.name || 'history').replace(/\.json$/i, '');
      const found = await act('import', { history: history.text, definition: definition.text || null, name });
      const arn = hold(found, name);
      if (!found.notes.length) go(format('execution', arn));
      else setShown({ arn, found });
    });
  };
  return html`<header class="head"><h1>Import a history</h1></header>
    <form class="card form import" onSubmit=${show}><p>Shows a history from a file with graph, timeline and payloads: of this server, or of the service, as <code>aws stepfunctions get-execution-history --execution-arn ARN</code> prints it. It is read, shown in this tab, and stored nowhere.</p>
      <${Drop} words="History (JSON)" given=${history} onGiven=${setHistory} isNeeded=${true} />
      <${Drop} words="Definition (JSON or YAML; may be left out)" given=${definition} onGiven=${setDefinition} />
      ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
      <footer><button class="action primary" disabled=${isBusy || !history.text.trim()}>${isBusy ? 'Reading…' : 'Show'}</button></footer></form>
    ${shown ? html`<div class="card form" role="status"><h2><bdi>${shown.found.run.head.name}</bdi>, ${plural(shown.found.run.head.events, 'event')}</h2>${shown.found.notes.map((/** @type {string} */ note) => html`<p>${note}</p>`)}
      <footer><a class="action primary" href=${format('execution', shown.arn)}>Show it</a></footer></div>` : null}
    ${held.size ? html`<div class="card form"><h2>In this tab</h2><ul>${[...held.keys()].map((arn) => html`<li key=${arn}><a href=${format('execution', arn)}><bdi>${arn.slice(HELD.length)}</bdi></a></li>`)}</ul></div>` : null}`;
}

/** Keeps a run for this tab, under a name of its own. @param {any} found @param {string} name @returns {string} */
function hold(found, name) {
  let arn = HELD + name;
  for (let count = 2; held.has(arn); count += 1) arn = `${HELD}${name} (${count})`;
  found.run.head.arn = arn;
  held.set(arn, (/** @type {string} */ read, /** @type {any} */ query) => answerOf(found, read, query));
  if (held.size > MOST_HELD) held.delete(/** @type {string} */ (held.keys().next().value));
  return arn;
}

/** @param {{words: string, given: {text: string, name: string}, onGiven: (given: {text: string, name: string}) => void, isNeeded?: boolean}} props */
function Drop({ words, given, onGiven, isNeeded = false }) {
  const [isOver, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const file = useRef(/** @type {any} */ (null));
  const take = async (/** @type {File | undefined} */ one) => {
    setOver(false);
    if (!one) return;
    if (one.size > MOST_BYTES) {
      setProblem(`${one.name} has ${plural(Math.ceil(one.size / 1048576), 'MiB', 'MiB')}; at most 30 MiB can be read.`);
      return;
    }
    setProblem('');
    onGiven({ text: await one.text(), name: one.name });
  };
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    take(event.dataTransfer?.files[0]);
  };
  const long = given.text.length > 200_000;
  return html`<div class=${isOver ? 'drop over' : 'drop'} onDragOver=${(/** @type {Event} */ event) => {
    event.preventDefault();
    setOver(true);
  }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <label>${words}<textarea rows=${long ? 2 : 6} required=${isNeeded} spellcheck=${false} placeholder="Paste it here, or drop a file" value=${long ? '' : given.text} onInput=${(/** @type {any} */ event) => onGiven({ text: event.target.value, name: '' })}></textarea></label>
    <p><button type="button" class="action" onClick=${() => file.current.click()}>Choose a file…</button><input type="file" hidden ref=${file} accept=".json,.yaml,.yml,.txt" aria-label=${`${words}, a file`} onChange=${(/** @type {any} */ event) => take(event.target.files[0])} />
      ${given.name ? html`<span class="faint"><bdi>${given.name}</bdi>, ${given.text.length.toLocaleString('en-GB')} characters</span>` : null}${problem ? html`<span class="fail" role="alert">${problem}</span>` : null}</p></div>`;
}
