// Tags of a state machine, and its settings: role, logging, tracing, encryption, limits of what runs at once.

import { html, useEffect, useState } from './vendor.js';
import { call } from './api.js';
import { useAction } from './dialogs.js';
import { Problem } from './parts.js';

/** @param {import('./machine.js').TabProps} props */
export function Tags({ machine, server }) {
  const [tags, setTags] = useState(/** @type {any[] | null} */ (null));
  const [refused, setRefused] = useState(/** @type {Error | null} */ (null));
  const [form, setForm] = useState({ key: '', value: '' });
  const { isBusy, problem, run } = useAction();
  const load = () => call('states', 'ListTagsForResource', { resourceArn: machine }).then((found) => {
    setTags(found.tags ?? []);
    setRefused(null);
  }, setRefused);
  useEffect(() => {
    load();
  }, [machine]);
  if (refused && !tags) return html`<${Problem} problem=${refused} again=${load} />`;
  if (!tags) return html`<p class="faint pad">Reading…</p>`;
  const may = server?.mayWrite ?? false;
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await call('states', 'TagResource', { resourceArn: machine, tags: [form] });
      await load();
      setForm({ key: '', value: '' });
    });
  };
  const remove = (/** @type {string} */ key) => run(async () => {
    await call('states', 'UntagResource', { resourceArn: machine, tagKeys: [key] });
    await load();
  });
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setForm({ ...form, [name]: event.target.value });
  return html`<section class="card scroll">${tags.length ? html`<table class="list"><thead><tr><th>Key</th><th>Value</th><th></th></tr></thead><tbody>
      ${tags.map((one) => html`<tr key=${one.key}><td class="name"><bdi>${one.key}</bdi></td><td><bdi>${one.value}</bdi></td><td class="end">${may ? html`<button class="link" disabled=${isBusy} aria-label=${`Remove the tag ${one.key}`} onClick=${() => remove(one.key)}>Remove</button>` : null}</td></tr>`)}</tbody></table>`
      : html`<p class="faint pad">It has no tags${may ? '' : ': aws stepfunctions tag-resource adds one'}.</p>`}
    ${may ? html`<form class="wb-bar2" onSubmit=${add}><label>Key <input required maxlength="128" value=${form.key} onInput=${set('key')} /></label><label>Value <input maxlength="256" value=${form.value} onInput=${set('value')} /></label>
      <button class="action" disabled=${isBusy}>Add</button></form>` : null}
    ${problem ? html`<p class="banner fail" role="alert"><bdi>${problem.message}</bdi></p>` : null}</section>`;
}

/** Facts of a description, in words. @param {any} shown @returns {[string, string][]} */
export function settingsOf(shown) {
  const log = shown.loggingConfiguration;
  const groups = (log?.destinations ?? []).map((/** @type {any} */ one) => one.cloudWatchLogsLogGroup?.logGroupArn ?? '').filter(Boolean);
  const key = shown.encryptionConfiguration;
  return [
    ['Role', shown.roleArn ?? 'none'],
    ['Logging', !log || log.level === 'OFF' ? 'off' : `${log.level}${log.includeExecutionData ? ', with data' : ', without data'}${groups.length ? `, to ${groups.join(', ')}` : ''}`],
    ['Tracing', shown.tracingConfiguration?.enabled ? 'on' : 'off'],
    ['Encryption', key && key.type !== 'AWS_OWNED_KEY' ? `${key.type} ${key.kmsKeyId ?? ''}` : 'the key of the service'],
    ['Revision', shown.revisionId ?? 'the first'],
    ['ARN', shown.stateMachineArn],
  ];
}

/** @param {import('./machine.js').TabProps} props */
export function Settings({ machine, shown }) {
  const [limit, setLimit] = useState(/** @type {any} */ (undefined));
  useEffect(() => {
    call('statewright', 'ListLimits').then((found) => setLimit(limitWords(found, machine)), () => setLimit(null));
  }, [machine]);
  const words = limit === undefined ? 'reading…' : limit === null ? 'not known' : limit;
  return html`<section class="card"><dl class="wb-facts2">${[...settingsOf(shown), /** @type {[string, string]} */ (['Limits', words])].map(([name, value]) => html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`)}</dl>
    <p class="pad faint">They are changed by deploying the machine, or with <code>aws stepfunctions update-state-machine</code>.</p></section>`;
}

/** What ListLimits says of a machine, in words. @param {any} found @param {string} machine */
export function limitWords(found, machine) {
  const own = (found.stateMachines ?? []).find((/** @type {any} */ one) => one.stateMachineArn === machine);
  if (!own) return 'none';
  const parts = [];
  if (own.maxConcurrentExecutions) parts.push(`${own.maxConcurrentExecutions} at once`);
  if (own.maxStartsPerSecond) parts.push(`${own.maxStartsPerSecond} starts a second`);
  return `${parts.join(', ') || 'none'} (${own.running} running, ${own.queued} queued)`;
}
