// What one pair of visits had: input, output and variables of both, as a difference.

import { html, useEffect, useMemo, useState } from './vendor.js';
import { diffLines } from './diff.js';
import { Lines, MOST_LINES } from './json.js';
import { Tabs } from './parts.js';
import { makePayloads } from './payloads.js';

/** @type {[string, string][]} */
const TABS = [['input', 'Input'], ['output', 'Output'], ['assignedVariables', 'Variables']];

/** @param {any} props */
export function Payloads({ found, pair, a, b }) {
  const [tab, setTab] = useState(pair.differs === 'output' ? 'output' : pair.differs === 'variables' ? 'assignedVariables' : 'input');
  return html`<section class="card inspector" aria-label="Payloads"><header class="what"><div><h2><bdi>${pair.state}</bdi></h2><p class="faint">− A, + B</p></div></header>
    <${Tabs} items=${TABS} chosen=${tab} label="Payloads of the visits" panel="pair" onChoose=${setTab} />
    <div class="tabbody" role="tabpanel" id="pair" aria-labelledby=${`pair-${tab}`} tabindex="0"><${Difference} key=${tab} found=${found} member=${tab} pair=${pair} a=${a} b=${b} /></div></section>`;
}

/** @param {any} props */
function Difference({ member, pair, a, b }) {
  const [held, setHeld] = useState(/** @type {any} */ ({ sides: null, problem: null }));
  const payloads = useMemo(() => [makePayloads(a), makePayloads(b)], [a, b]);
  useEffect(() => {
    let isCurrent = true;
    const of = (/** @type {any} */ visit, /** @type {number} */ place) => {
      const event = member === 'input' ? visit?.event : visit?.end;
      return event ? payloads[place].read(event, member) : Promise.resolve(null);
    };
    Promise.all([of(pair.a, 0), of(pair.b, 1)]).then((sides) => isCurrent && setHeld({ sides, problem: null }), (problem) => isCurrent && setHeld({ sides: null, problem }));
    return () => {
      isCurrent = false;
    };
  }, [payloads, pair, member]);
  const { sides, problem } = held;
  const lines = useMemo(() => (sides ? diffLines(sides[0]?.value, sides[1]?.value, MOST_LINES) : null), [sides]);
  if (problem) return html`<p class="fail pad" role="alert">${problem.message}</p>`;
  if (!lines) return html`<p class="faint pad">Reading…</p>`;
  if (!sides[0] && !sides[1]) return html`<p class="faint pad">Neither visit has this.</p>`;
  return html`<${Lines} lines=${lines.lines} more=${lines.more} />`;
}
