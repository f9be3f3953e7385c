// A part of a page whose module is loaded when it is first shown.

import { html, useEffect, useState } from './vendor.js';
import { Problem } from './parts.js';

/** @type {Map<() => Promise<any>, any>} */
const loaded = new Map();

/** @param {{load: () => Promise<any>, props: Record<string, any>}} props  `load` gives the component, and is always the same function */
export function Later({ load, props }) {
  const [turn, setTurn] = useState(0);
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    if (loaded.has(load)) return;
    load().then((found) => {
      loaded.set(load, found);
      setProblem(null);
      setTurn(turn + 1);
    }, () => setProblem(new Error('A part of the page could not be loaded.')));
  }, [load, turn]);
  const Part = loaded.get(load);
  if (Part) return html`<${Part} ...${props} />`;
  return problem ? html`<${Problem} problem=${problem} again=${() => setTurn(turn + 1)} />` : html`<p class="faint pad">Reading…</p>`;
}
