// A drawing without a run, in the form in which graph.js draws runs. Pure.

/** @param {any} drawing @param {any} [definition] @returns {import('./model.js').Run} */
export function stillRun(drawing, definition = {}) {
  const core = /** @type {any} */ ({ drawing, definition });
  return {
    head: {}, node: null, drawing, definition, states: [], visits: [], length: 0, typeOf: () => '', msOf: () => 0, visitOf: () => -1,
    timeAt: () => 0, endMs: 0, edges: new Map(), byName: new Map(), times: [], core,
  };
}
