// The run as a table of its states, and its facts as JSON.

import { html, useMemo } from './vendor.js';
import { duration, offset } from './format.js';
import { toneWords } from './icons.js';
import { attemptsAt, lookAt, rowsOf } from './model.js';

/** The same content as the graph, as text. @param {any} props */
export function Table({ run, at, selected, onSelect }) {
  const rows = useMemo(() => [...rowsOf(run), ...run.states.filter((/** @type {any} */ state) => !state.visits.length)], [run.core]);
  return html`<div class="scroll grow"><table class="list"><thead><tr><th>State</th><th>Type</th><th>Status</th><th class="end">Visits</th><th class="end">Attempts</th><th class="end">First entered</th><th class="end">Last took</th><th>Next</th></tr></thead>
    <tbody>${rows.map((state) => {
      const look = lookAt(state, at);
      const { visit } = look;
      const took = visit && visit.end && visit.end <= at ? duration(visit.endMs - visit.beginMs) : '';
      return html`<tr key=${state.name} class=${state.name === selected ? 'on' : ''}><td class="name"><button class="link" onClick=${() => onSelect(state.name)}>${state.name}</button></td><td>${state.type}</td>
        <td class=${`c-${look.tone}`}>${toneWords(look.tone, look.begun > 0, state.apart)}</td><td class="end">${look.begun}</td><td class="end">${visit ? attemptsAt(visit, at).length || '' : ''}</td>
        <td class="end">${look.begun ? offset(state.visits[0].beginMs) : ''}</td><td class="end">${took}</td><td>${visit && visit.next >= 0 && visit.end <= at ? run.states[visit.next].name : ''}</td></tr>`;
    })}</tbody></table></div>`;
}

/** @param {any} props */
export function Raw({ run }) {
  const text = JSON.stringify(run.head, null, 2);
  return html`<div class="scroll grow"><pre class="raw">${text}</pre></div>`;
}
