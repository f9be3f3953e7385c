// The choice of what a new execution runs: the machine as it is now, one of its versions, or an alias.

import { html, useEffect, useState } from './vendor.js';
import { call, regionOf } from './api.js';

const MOST = 100;

/** Reads the versions and aliases of a machine. @param {string} machineArn @returns {{arn: string, words: string}[]} */
function useVersions(machineArn) {
  const [found, setFound] = useState(/** @type {{arn: string, words: string}[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    const request = { stateMachineArn: machineArn, maxResults: MOST };
    const region = regionOf(machineArn);
    Promise.all([
      call('states', 'ListStateMachineAliases', request, stop.signal, region),
      call('states', 'ListStateMachineVersions', request, stop.signal, region),
    ]).then(([{ stateMachineAliases }, { stateMachineVersions }]) => setFound([
      ...stateMachineAliases.map((/** @type {any} */ one) => ({ arn: one.stateMachineAliasArn, words: `alias ${last(one.stateMachineAliasArn)}` })),
      ...stateMachineVersions.map((/** @type {any} */ one) => ({ arn: one.stateMachineVersionArn, words: `version ${last(one.stateMachineVersionArn)}` })),
    ]), () => setFound([]));
    return () => stop.abort();
  }, [machineArn]);
  return found;
}

/** @param {string} arn */
function last(arn) {
  return arn.slice(arn.lastIndexOf(':') + 1);
}

/**
 * @param {{id: string, machineArn: string, value: string, first: [string, string][], onChange: (arn: string) => void}} props
 *   `first` are the choices before versions and aliases: ARN and words.
 */
export function VersionField({ id, machineArn, value, first, onChange }) {
  const versions = useVersions(machineArn);
  const choices = [...first, ...versions.map(({ arn, words }) => [arn, words])];
  return html`<div class="field"><label for=${id}>Definition</label><select id=${id} value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
    ${choices.map(([arn, words]) => html`<option key=${arn} value=${arn} selected=${arn === value}>${words}</option>`)}</select></div>`;
}
