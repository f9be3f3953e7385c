// The link from a visit of a distributed Map to its Map Run.

import { html } from './vendor.js';
import { useRead } from './reading.js';
import { format } from './route.js';

/** @param {{run: any, state: any, visit: any}} props */
export function MapRunLink({ run, state, visit }) {
  const isDistributed = state.type === 'Map' && run.states.some((/** @type {any} */ one) => one.owner === state.index && one.apart);
  const { found } = useRead(isDistributed ? 'run/map-runs' : null, { arn: run.head.arn }, {});
  const one = found?.mapRuns.find((/** @type {any} */ each) => each.event >= visit.begin && (!visit.end || each.event <= visit.end));
  return one ? html`<p class="facts"><a href=${format('map-run', one.arn)}>Open its Map Run</a></p>` : null;
}
