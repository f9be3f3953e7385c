// Stopping or redriving many executions: what is chosen, a preview, then the work with its progress.

import { html, useEffect, useRef, useState } from './vendor.js';
import { actLines } from './api.js';
import { Dialog } from './dialogs.js';
import { count, plural } from './format.js';
import { Icon } from './icons.js';

/** @typedef {'stop' | 'redrive'} Verb */
/** @type {Record<Verb, {title: string, verb: string, doing: string, done: string}>} */
const WORDS = {
  stop: { title: 'Stop executions', verb: 'Stop', doing: 'Stopping', done: 'stopped' },
  redrive: { title: 'Redrive executions', verb: 'Redrive', doing: 'Redriving', done: 'redriven' },
};

/** The bar above a list whose rows can be chosen. @param {{chosen: Set<string>, rows: any[], filters: Record<string, any>, onDone: () => void}} props */
export function Bulk({ chosen, rows, filters, onDone }) {
  const [asked, setAsked] = useState(/** @type {{verb: Verb, body: any} | null} */ (null));
  const ask = (/** @type {Verb} */ verb, /** @type {boolean} */ isAll) => setAsked({ verb, body: isAll ? { verb, filters } : { verb, arns: [...chosen] } });
  return html`<div class="note bulk" role="region" aria-label="Chosen executions"><b>${chosen.size ? `${count(chosen.size)} chosen` : 'None chosen'}</b>
    <button class="action" disabled=${!chosen.size} onClick=${() => ask('stop', false)}><${Icon} name="stop" size=${12} />Stop…</button>
    <button class="action" disabled=${!chosen.size} onClick=${() => ask('redrive', false)}><${Icon} name="run" size=${12} />Redrive…</button>
    <span class="faint">or all that match:</span><button class="link" disabled=${!rows.length} onClick=${() => ask('stop', true)}>Stop all…</button>
    <button class="link" disabled=${!rows.length} onClick=${() => ask('redrive', true)}>Redrive all…</button>
    ${asked ? html`<${Work} verb=${asked.verb} body=${asked.body} onClose=${(/** @type {boolean} */ isDone) => {
      setAsked(null);
      if (isDone) onDone();
    }} />` : null}</div>`;
}

/** @param {{verb: Verb, body: any, onClose: (isDone: boolean) => void}} props */
function Work({ verb, body, onClose }) {
  const words = WORDS[verb];
  const [looked, setLooked] = useState(0);
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [progress, setProgress] = useState(/** @type {any} */ (null));
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [isStopped, setStopped] = useState(false);
  const [reason, setReason] = useState('');
  const stop = useRef(new AbortController());
  useEffect(() => {
    actLines('executions/bulk/preview', body, (line) => {
      if (line.preview) setPreview(line.preview);
      else setLooked(line.looked);
    }, stop.current.signal).catch((failure) => (stop.current.signal.aborted ? undefined : setProblem(failure)));
    return () => stop.current.abort();
  }, []);
  const begin = (/** @type {Event} */ event) => {
    event.preventDefault();
    stop.current = new AbortController();
    setProgress({ done: 0, of: preview.arns.length, succeeded: 0, refused: 0 });
    actLines('executions/bulk', { verb, arns: preview.arns, reason }, (line) => {
      setProgress(line);
      if (line.refusals?.length) setRefusals((/** @type {any[]} */ before) => [...before, ...line.refusals]);
    }, stop.current.signal).catch((failure) => (stop.current.signal.aborted ? setStopped(true) : setProblem(failure)));
  };
  const isOver = progress?.isOver || isStopped || problem;
  return html`<${Dialog} title=${words.title} onClose=${() => onClose(progress !== null)}><form class="form" onSubmit=${begin}>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    ${progress ? html`<p role="status">${progress.isOver ? `${plural(progress.succeeded, 'execution')} ${words.done}` : isStopped ? `Ended after ${progress.done} of ${plural(progress.of, 'execution')}: ${progress.succeeded} ${words.done}` : `${words.doing} ${progress.done} of ${plural(progress.of, 'execution')}`}${progress.refused ? `, ${progress.refused} refused` : ''}.</p>
      <progress aria-label=${words.doing} max=${progress.of} value=${progress.done}></progress>
      ${refusals.length ? html`<ul class="refusals">${refusals.slice(0, 50).map((one) => html`<li key=${one.arn}><b><bdi>${one.arn.split(':').pop()}</bdi></b>: ${one.message}</li>`)}</ul>` : null}`
      : preview ? html`<${Preview} preview=${preview} words=${words} />${verb === 'stop' && preview.arns.length ? html`<label>Cause, shown on their pages <input maxlength="256" value=${reason} placeholder="optional" onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></label>` : null}`
        : problem ? null : html`<p role="status">Looking which match${looked ? `: ${plural(looked, 'execution')} so far` : ''}…</p>`}
    <footer>${progress && !isOver ? html`<button type="button" class="action" onClick=${() => stop.current.abort()}>End here</button>` : html`<button type="button" class="action" onClick=${() => onClose(progress !== null)}>${progress ? 'Close' : 'Cancel'}</button>`}
      ${progress ? null : html`<button class=${verb === 'stop' ? 'action primary danger' : 'action primary'} disabled=${!preview?.arns.length}>${words.verb}${preview?.arns.length ? ` ${plural(preview.arns.length, 'execution')}` : ''}</button>`}</footer></form><//>`;
}

/** @param {{preview: any, words: any}} props */
function Preview({ preview, words }) {
  const { arns, names, skipped, isWhole } = preview;
  return html`${arns.length ? html`<p><b>${plural(arns.length, 'execution')}</b> will be ${words.done}: ${names.map((/** @type {string} */ name, /** @type {number} */ place) => html`${place ? ', ' : ''}<bdi>${name}</bdi>`)}${arns.length > names.length ? `, and ${count(arns.length - names.length)} more` : ''}.</p>` : html`<p>None of them can be ${words.done}.</p>`}
    ${skipped.length ? html`<p>Left alone:</p><ul>${skipped.map((/** @type {any} */ one) => html`<li>${plural(one.count, 'execution')}: ${one.why}</li>`)}</ul>` : null}
    ${isWhole ? null : html`<p class="faint">More match. These are the newest; do it again for the rest.</p>`}`;
}
