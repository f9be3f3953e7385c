// What executions would cost at the cloud service, with advice: on a machine's page, and of one execution.

import { html } from './vendor.js';
import { duration, plural } from './format.js';
import { money, percent } from './heat_model.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';

/** The costs of a machine's last executions. @param {{machine: any, server?: any}} props */
export function Costs({ machine }) {
  const arn = typeof machine === 'string' ? machine : machine.arn ?? machine.stateMachineArn;
  const { found, problem, again } = useRead('machine/costs', { arn });
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading the last executions…</p>`;
  if (!found.runs) return html`<div class="empty card"><h2>No execution yet</h2><p>The cost is counted from the last executions of this state machine.</p></div>`;
  return html`<div class="card costs"><${Bill} found=${found} isMany=${true} /></div>`;
}

/** The costs of one execution. @param {{arn: string}} props */
export function RunCosts({ arn }) {
  const { found, problem, again } = useRead('run/costs', { arn });
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  return html`<div class="form costs"><${Bill} found=${found} isMany=${false} /></div>`;
}

/** @param {{found: any, isMany: boolean}} props */
function Bill({ found, isMany }) {
  const { express } = found;
  return html`<p class="total"><b>${money(found.usdPerRun)}</b> ${isMany ? `an execution, on average of the last ${plural(found.runs, 'execution')}, ${money(found.usd)} in all` : 'for this execution'}.${' '}
      <span class="faint">An estimate at the service's prices of ${found.prices.date}, ${found.prices.region}, without free amounts.</span></p>
    <p>${!express ? 'An Express execution is charged for its duration and memory, not for its transitions.' : express.why ? `It could not be an Express state machine: ${express.why}.` : html`As an Express state machine the same would cost <b>${money(express.usdPerRun)}</b>${isMany ? ' an execution' : ''}.`}</p>
    ${found.hints.length || found.loops.length ? html`<section><h3>Advice</h3><ul>${found.hints.map((/** @type {string} */ hint) => html`<li>${hint}.</li>`)}
      ${found.loops.map((/** @type {any} */ loop) => html`<li>Waiting in <bdi>${loop.state}</bdi> cost <b>${money(loop.usd)}</b>: ${loop.transitions.toLocaleString('en-GB')} transitions to wait ${duration(loop.waitedSeconds * 1000)}. One long wait and turns of a minute would have cost ${money(loop.calmUsd)}.</li>`)}</ul></section>` : null}
    <div class="scroll"><table class="list"><caption class="unseen">Cost by state</caption><thead><tr><th>State</th><th class="end">Cost</th><th class="end">Share</th><th class="end">Transitions</th><th>Of which</th></tr></thead>
      <tbody>${found.states.slice(0, 200).map((/** @type {any} */ state) => html`<tr key=${state.name}><td class="name"><bdi>${state.name}</bdi></td><td class="end">${money(state.usd)}</td><td class="end">${percent(state.share)}</td><td class="end">${state.transitions.toLocaleString('en-GB')}</td>
        <td>${services(state.lines)}</td></tr>`)}</tbody></table></div>
    <div class="scroll"><table class="list"><caption class="unseen">Cost by service</caption><thead><tr><th>Service</th><th class="end">Quantity</th><th>Of</th><th class="end">Cost</th></tr></thead>
      <tbody>${found.lines.map((/** @type {any} */ line) => html`<tr key=${`${line.service} ${line.words}`}><td>${line.service}</td><td class="end">${line.quantity.toLocaleString('en-GB', { maximumFractionDigits: 4 })}</td><td>${line.words}</td><td class="end">${amount(line)}</td></tr>`)}</tbody></table></div>
    ${found.notes.length ? html`<ul class="faint">${found.notes.map((/** @type {string} */ note) => html`<li>${note}</li>`)}</ul>` : null}`;
}

/** @param {any} line */
function amount(line) {
  return line.usd === null ? 'no price' : money(line.usd);
}

/** What each service costs. @param {any[]} lines */
function services(lines) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const line of lines) sums.set(line.service, (sums.get(line.service) ?? 0) + (line.usd ?? 0));
  return [...sums].map(([service, usd]) => `${service} ${money(usd)}`).join(', ');
}
