// The tab Evaluated of a state: how its input became its output, step by step.

import { html, useEffect, useMemo } from './vendor.js';
import { diffLines } from './diff.js';
import { attemptWords, isUnchanged, originWords, valueOf } from './evaluated_words.js';
import { duration } from './format.js';
import { Json, Lines, MOST_LINES } from './json.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { loadStyle } from './styles.js';

const MOST_VARIABLES = 100;

/** @param {{arn: string, visit: import('./model.js').Visit}} props */
export function Evaluated({ arn, visit }) {
  // Read again when the visit has gone on: its attempts, and its end.
  const { found, problem, again } = useRead('run/explain', { arn, event: visit.begin, _: visit.end || visit.attempts.length });
  useEffect(() => {
    loadStyle('evaluated.css').catch(() => {});
  }, []);
  if (problem && !found) return /** @type {any} */ (problem).status >= 500 ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint pad">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Computing…</p>`;
  return html`<div class="evaluated">${found.notes.map((/** @type {string} */ one) => html`<p class="pad faint">${one}</p>`)}
    ${found.chance.length ? html`<p class="pad note">It reads <code>${found.chance.join(', ')}</code>: values of those are other ones than they were. What was recorded stands beside.</p>` : null}
    ${found.choice ? html`<${Choice} choice=${found.choice} />` : null}
    <${Steps} found=${found} />
    ${found.attempts.some((/** @type {any} */ one) => one.failed) ? html`<${Attempts} found=${found} />` : null}
    ${found.catch ? html`<section><h3>Catch ${found.catch.index + 1} took the error${found.next ? html` to <bdi>${found.next}</bdi>` : null}</h3><${Json} value=${found.catch.rule} /></section>` : null}
    <${Variables} title="Variables it could read" rows=${found.variables} none="There were no variables." />
    ${found.assigned.length ? html`<${Variables} title="Variables it assigned" rows=${found.assigned} none="" />` : null}</div>`;
}

/** @param {any} props */
function Choice({ choice }) {
  if (choice.index === null) return html`<section><h3>No rule was true: Default, <bdi>${choice.next}</bdi></h3></section>`;
  return html`<section><h3>Rule ${choice.index + 1} was true: <bdi>${choice.next}</bdi></h3><${Json} value=${choice.rule} /></section>`;
}

/** @param {any} props */
function Steps({ found }) {
  const byName = useMemo(() => new Map(found.steps.map((/** @type {any} */ one) => [one.name, one])), [found]);
  return found.steps.map((/** @type {any} */ step) => html`<${Step} key=${step.name} step=${step} byName=${byName} chance=${found.chance} />`);
}

/** @param {any} props */
function Step({ step, byName, chance }) {
  const [tone, words] = originWords(step, chance);
  const unchanged = isUnchanged(step, byName);
  return html`<details class="step" open=${!unchanged && step.name !== 'input'}><summary><b>${step.title}</b>${step.field ? '' : unchanged ? html` <span class="faint">no change</span>` : ''}<span class=${`badge t-${tone}`}>${words}</span></summary>
    <${Value} step=${step} before=${step.from === null ? undefined : byName.get(step.from)} />
    ${step.recorded === null ? null : html`<h4>Recorded, − recomputed, + recorded</h4><${Difference} before=${step.value} after=${step.recorded} />`}</details>`;
}

/** @param {any} props */
function Value({ step, before }) {
  if (before) return html`<${Difference} before=${before.value} after=${step.value} />`;
  return html`<${Json} value=${valueOf(step.value)} />`;
}

/** @param {any} props */
function Difference({ before, after }) {
  const { lines, more } = useMemo(() => diffLines(valueOf(before), valueOf(after), MOST_LINES), [before, after]);
  return html`<${Lines} lines=${lines} more=${more} />`;
}

/** @param {any} props */
function Attempts({ found }) {
  return html`<section><h3>Attempts</h3>${found.moreAttempts ? html`<p class="faint pad">The first ${found.moreAttempts.toLocaleString('en-GB')} are not shown.</p>` : null}
    <ol class="tries">${found.attempts.map((/** @type {any} */ one) => html`<li value=${one.number} key=${one.number}><b><bdi>${one.error ?? (one.failed ? 'Failed' : 'Succeeded')}</bdi></b> ${attemptWords(one, duration)}</li>`)}</ol></section>`;
}

/** @param {any} props */
function Variables({ title, rows, none }) {
  return html`<section><h3>${title}</h3>${rows.length ? html`<table class="list"><thead><tr><th>Name</th><th>Value</th>${rows[0].state ? html`<th>Assigned by</th>` : null}</tr></thead><tbody>
    ${rows.slice(0, MOST_VARIABLES).map((/** @type {any} */ one) => html`<tr key=${one.name}><td class="name"><bdi>$${one.name}</bdi></td><td class="mono">${one.value.length > 300 ? `${one.value.slice(0, 299)}…` : one.value}</td>${one.state ? html`<td><bdi>${one.state}</bdi> <span class="faint">event ${one.event}</span></td>` : null}</tr>`)}</tbody></table>
    ${rows.length > MOST_VARIABLES ? html`<p class="faint pad">and ${rows.length - MOST_VARIABLES} more</p>` : null}` : html`<p class="faint pad">${none}</p>`}</section>`;
}
