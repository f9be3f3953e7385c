// Where a fork can begin. Pure.

/**
 * The top-level state and visit at which a fork can begin for a chosen state: itself, or the Map or Parallel around it.
 * @param {import('./model.js').Run} run @param {import('./model.js').State | undefined} state
 * @param {import('./model.js').Visit | null} visit
 * @returns {{state: import('./model.js').State, visit: number, isAround: boolean} | null}  visits count from 1
 */
export function forkPoint(run, state, visit) {
  if (!state || !visit || state.apart) return null;
  let outer = visit;
  while (outer.parent >= 0) outer = run.visits[outer.parent];
  const top = run.states[outer.state];
  const place = top.visits.indexOf(outer);
  return place < 0 ? null : { state: top, visit: place + 1, isAround: top !== state };
}
