// What a replay came to: the verdict, both ways side by side, and the form for an answer that was not recorded.

import { html, useMemo, useState } from './vendor.js';
import { duration, offset } from './format.js';
import { Icon, ToneBadge } from './icons.js';
import { Timeline } from './timeline.js';
import { endWords, mockOf, mockWords, partingRow, verdictWords, visitWords } from './what_if_words.js';

const FIRST_ROWS = 60;

/** @param {any} props */
export function Result({ result, recorded, isOld, mocks, isBusy, onMocks }) {
  const said = verdictWords(result);
  const isCut = Boolean(result.missing);
  return html`<section class="card result" aria-label="Result">
    <div class=${`verdict t-${said.tone}`} role="status"><${Icon} name=${said.tone === 'ok' ? 'check' : said.tone === 'wait' ? 'clock' : 'fork'} />
      <p><b>${said.title}</b> <bdi>${said.words}</bdi></p>${isOld ? html`<span class="stale">The text was edited since.</span>` : null}</div>
    ${result.replayed ? html`<dl class="ends"><${End} title="Recorded" end=${result.recorded} isCut=${false} /><${End} title="Now" end=${result.replayed} isCut=${isCut} /></dl>` : null}
    ${result.changes.length > 1 || result.changes[0]?.pointer ? html`<ol class="changes">${result.changes.map((/** @type {any} */ one) => html`<li><bdi>${one.words}</bdi> <span class="faint">event ${one.event.toLocaleString('en-GB')}</span>${one.pointer ? html`<${Values} change=${one} />` : null}</li>`)}</ol>` : null}
    ${result.missing ? html`<${MockForm} key=${result.missing.where} missing=${result.missing} mocks=${mocks} isBusy=${isBusy} onMocks=${onMocks} />` : null}
    ${mocks.length ? html`<${Mocks} mocks=${mocks} isBusy=${isBusy} onMocks=${onMocks} />` : null}
    ${result.run ? html`<${Ways} result=${result} recorded=${recorded} isCut=${isCut} />` : null}</section>`;
}

/** @param {any} props */
function End({ title, end, isCut }) {
  return html`<div><dt>${title}</dt><dd><bdi>${endWords(end, isCut)}</bdi> <span class="faint">after ${duration(end.durationMs)}</span>
    ${!isCut && end.cause ? html`<p class="faint"><bdi>${end.cause.slice(0, 300)}</bdi></p>` : null}${!isCut && end.output ? html`<code class="value">${end.output.slice(0, 600)}</code>` : null}</dd></div>`;
}

/** @param {any} props */
function Values({ change }) {
  const text = (/** @type {string | null} */ value) => (value === null ? 'nothing' : value.length > 200 ? `${value.slice(0, 199)}…` : value);
  return html`<div class="values"><code title="recorded">${text(change.before)}</code> <span aria-label="now">→</span> <code title="now">${text(change.after)}</code></div>`;
}

/** The answer that is missing. @param {any} props */
function MockForm({ missing, mocks, isBusy, onMocks }) {
  const [typed, setTyped] = useState({ fails: false, result: '{}', error: '', cause: '', every: false });
  const [problem, setProblem] = useState('');
  const set = (/** @type {any} */ change) => setTyped({ ...typed, ...change });
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    const made = mockOf(missing, typed);
    setProblem(made.problem);
    if (made.mock) onMocks([...mocks, made.mock]);
  };
  const radio = (/** @type {boolean} */ fails, /** @type {string} */ words) => html`<label class="choice"><input type="radio" name="outcome" checked=${typed.fails === fails} onChange=${() => set({ fails })} /> ${words}</label>`;
  return html`<form class="mock" onSubmit=${send} aria-label="An answer that was not recorded"><h3>What does <bdi>${missing.where}</bdi> answer?</h3>
    <p class="faint"><bdi>${missing.why}</bdi> It calls <code>${missing.resource}</code> with <code>${missing.arguments.slice(0, 400)}</code></p>
    <fieldset><legend class="unseen">Outcome</legend>${radio(false, 'It succeeds with')}${radio(true, 'It fails with')}</fieldset>
    ${typed.fails ? html`<div class="two"><label>Error <input value=${typed.error} placeholder="States.TaskFailed" onInput=${(/** @type {any} */ event) => set({ error: event.target.value })} /></label>
      <label>Cause <input value=${typed.cause} onInput=${(/** @type {any} */ event) => set({ cause: event.target.value })} /></label></div>`
    : html`<label>${missing.isMapRun ? 'The result of the whole Map, as JSON' : 'Its whole result, as JSON'}<textarea rows="3" spellcheck="false" value=${typed.result} onInput=${(/** @type {any} */ event) => set({ result: event.target.value })}></textarea></label>`}
    <label class="choice"><input type="checkbox" checked=${typed.every} onChange=${(/** @type {any} */ event) => set({ every: event.target.checked })} /> Answer every call of this state so that was not recorded</label>
    ${problem ? html`<p class="fail" role="alert">${problem}</p>` : null}
    <div><button class="action primary" disabled=${isBusy}>Answer and replay</button></div></form>`;
}

/** @param {any} props */
function Mocks({ mocks, isBusy, onMocks }) {
  return html`<div class="mocks"><h3>Answers of yours</h3><ul>${mocks.map((/** @type {any} */ one, /** @type {number} */ place) => html`<li><b><bdi>${one.where}</bdi></b> <bdi>${mockWords(one)}</bdi>
    <button class="plain" aria-label=${`Take back the answer of ${one.where}`} disabled=${isBusy} onClick=${() => onMocks(mocks.filter((/** @type {any} */ _, /** @type {number} */ other) => other !== place))}><${Icon} name="cross" size=${12} /></button></li>`)}</ul></div>`;
}

/** @param {any} props */
function Ways({ result, recorded, isCut }) {
  const [selected, setSelected] = useState(result.changes[0]?.state ?? '');
  const [whole, setWhole] = useState(false);
  const { run, pairs } = result;
  const parting = useMemo(() => partingRow(pairs, isCut), [result]);
  const first = Math.max(0, whole ? 0 : parting - FIRST_ROWS / 2);
  const rows = whole ? pairs : pairs.slice(first, first + FIRST_ROWS);
  const diverged = result.divergedAt;
  const [at, setAt] = useState(0);
  const [seen, setSeen] = useState(0);
  return html`<div class="ways"><h3>Both ways</h3><div class="scroll"><table class="list"><thead><tr><th>State</th><th>Recorded</th><th>Now</th></tr></thead><tbody>
    ${rows.map((/** @type {any} */ one, /** @type {number} */ place) => html`${first + place === parting ? html`<tr class="parting"><td colspan="3"><${Icon} name="fork" size=${12} /> Here the ways part</td></tr>` : null}
      <tr class=${one.state === selected ? 'on' : ''}><td class="name"><button class="link" onClick=${() => setSelected(one.state)}><bdi>${one.state}</bdi></button></td><td><${Status} status=${one.recorded} /></td><td><${Status} status=${one.replayed} unknown=${isCut} /></td></tr>`)}</tbody></table></div>
    ${pairs.length > rows.length ? html`<button class="more" onClick=${() => setWhole(true)}>Show all ${pairs.length.toLocaleString('en-GB')} visits</button>` : null}
    ${result.morePairs ? html`<p class="faint pad">${result.morePairs.toLocaleString('en-GB')} more visits are not shown.</p>` : null}</div>
    <div class="lanes"><h3>Recorded</h3><${Lane} run=${recorded} at=${seen || recorded.length} onAt=${setSeen} selected=${selected} onSelect=${setSelected} />
      <h3>Now${diverged && run ? html` <button class="badge t-caught" title="Show this moment" onClick=${() => setAt(diverged)}><${Icon} name="fork" size=${12} />differs from ${offset(run.msOf(diverged))} on, event ${diverged.toLocaleString('en-GB')}</button>` : null}</h3>
      <${Lane} run=${run} at=${at || run.length} onAt=${setAt} selected=${selected} onSelect=${setSelected} /></div>`;
}

/** @param {{status: string | null, unknown?: boolean}} props */
function Status({ status, unknown = false }) {
  const [tone, words] = visitWords(status);
  if (status === null) return html`<span class="faint">${unknown ? 'not known' : 'not reached'}</span>`;
  return html`<${ToneBadge} tone=${tone} words=${words} />`;
}

/** @param {any} props */
function Lane({ run, at, onAt, selected, onSelect }) {
  return html`<div class="lane"><${Timeline} run=${run} at=${Math.min(at, run.length)} selected=${selected} onAt=${onAt} onSelect=${onSelect} /></div>`;
}
