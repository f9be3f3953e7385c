// Versions of a state machine, and the aliases that route to them: published, described, deleted.

import { html, useEffect, useState } from './vendor.js';
import { call } from './api.js';
import { Confirm, Dialog, useAction } from './dialogs.js';
import { instant, iso } from './format.js';
import { Problem } from './parts.js';
import { format, qualifierOf } from './route.js';

const MOST = 100;

/** The versions, newest first, and all aliases with their routes. @param {string} machine */
async function read(machine) {
  const [versions, listed] = await Promise.all([
    call('states', 'ListStateMachineVersions', { stateMachineArn: machine, maxResults: MOST }),
    call('states', 'ListStateMachineAliases', { stateMachineArn: machine, maxResults: MOST }),
  ]);
  const aliases = await Promise.all(listed.stateMachineAliases.map((/** @type {any} */ one) => call('states', 'DescribeStateMachineAlias', { stateMachineAliasArn: one.stateMachineAliasArn })));
  return { versions: versions.stateMachineVersions, next: Boolean(versions.nextToken), aliases, moreAliases: Boolean(listed.nextToken) };
}

/** The aliases that route to a version. @param {any[]} aliases @param {string} version @returns {{name: string, arn: string, weight: number}[]} */
export function routesTo(aliases, version) {
  return aliases.flatMap((alias) => alias.routingConfiguration.filter((/** @type {any} */ route) => route.stateMachineVersionArn === version)
    .map((/** @type {any} */ route) => ({ name: alias.name, arn: alias.stateMachineAliasArn, weight: route.weight })));
}

/** @param {import('./machine.js').TabProps} props */
export function Versions({ machine, server, shown }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [asked, setAsked] = useState(/** @type {any} */ (null));
  const load = () => read(machine).then((one) => {
    setFound(one);
    setProblem(null);
  }, setProblem);
  useEffect(() => {
    load();
  }, [machine]);
  if (problem && !found) return html`<${Problem} problem=${problem} again=${load} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const may = server?.mayWrite ?? false;
  const done = async () => {
    await load();
    setAsked(null);
  };
  return html`${problem ? html`<${Problem} problem=${problem} again=${load} />` : null}
    ${may ? html`<section class="card"><p class="wb-bar2"><button class="action" onClick=${() => setAsked({ kind: 'publish' })}>Publish a version</button>
      <button class="action" disabled=${!found.versions.length} onClick=${() => setAsked({ kind: 'alias' })}>New alias</button></p></section>` : null}
    ${found.versions.length ? html`<section class="card scroll"><table class="list"><thead><tr><th>Version</th><th>Created (UTC)</th><th>Aliases</th><th></th></tr></thead><tbody>
      ${found.versions.map((/** @type {any} */ one) => {
        const arn = one.stateMachineVersionArn;
        const routes = routesTo(found.aliases, arn);
        return html`<tr key=${arn}><td class="name"><a href=${format('machine', arn)}>${qualifierOf(arn)}</a></td><td title=${iso(one.creationDate)}>${instant(one.creationDate)}</td>
          <td>${routes.map((route) => html`<a href=${format('machine', route.arn)}><bdi>${route.name}</bdi></a> <span class="faint">${route.weight} %</span> `)}</td>
          <td class="end"><a href=${format('machine', machine, { tab: 'diff', a: qualifierOf(arn) })}>Compare with now</a>
            ${may ? html` <button class="link" disabled=${routes.length > 0} title=${routes.length ? 'An alias routes to it' : ''} onClick=${() => setAsked({ kind: 'delete', arn })}>Delete</button>` : null}</td></tr>`;
      })}</tbody></table>${found.next ? html`<p class="faint pad">Only the newest ${MOST} are shown: <code>aws stepfunctions list-state-machine-versions</code> has all.</p>` : null}</section>`
      : html`<div class="empty card"><h2>No version yet</h2><p>A version is the definition as it is now, kept as it is: <code>aws stepfunctions publish-state-machine-version --state-machine-arn ${machine}</code></p></div>`}
    ${found.aliases.length ? html`<section class="card scroll"><table class="list"><thead><tr><th>Alias</th><th>Routes</th><th>Description</th><th></th></tr></thead><tbody>
      ${found.aliases.map((/** @type {any} */ one) => html`<tr key=${one.name}><td class="name"><a href=${format('machine', one.stateMachineAliasArn)}><bdi>${one.name}</bdi></a></td>
        <td>${one.routingConfiguration.map((/** @type {any} */ route) => `version ${qualifierOf(route.stateMachineVersionArn)}: ${route.weight} %`).join(', ')}</td><td><bdi>${one.description ?? ''}</bdi></td>
        <td class="end">${may ? html`<button class="link" onClick=${() => setAsked({ kind: 'alias', alias: one })}>Change</button> <button class="link" onClick=${() => setAsked({ kind: 'unalias', arn: one.stateMachineAliasArn, name: one.name })}>Delete</button>` : null}</td></tr>`)}</tbody></table></section>` : null}
    ${asked?.kind === 'publish' ? html`<${Publish} machine=${machine} revision=${shown.revisionId} done=${done} onClose=${() => setAsked(null)} />` : null}
    ${asked?.kind === 'alias' ? html`<${AliasForm} alias=${asked.alias} versions=${found.versions} done=${done} onClose=${() => setAsked(null)} />` : null}
    ${asked?.kind === 'delete' ? html`<${Confirm} title=${`Delete version ${qualifierOf(asked.arn)}`} words="Executions that run it go on; new ones cannot be started with it. This cannot be undone." verb="Delete"
      onConfirm=${async () => { await call('states', 'DeleteStateMachineVersion', { stateMachineVersionArn: asked.arn }); await load(); }} onClose=${() => setAsked(null)} />` : null}
    ${asked?.kind === 'unalias' ? html`<${Confirm} title=${`Delete the alias ${asked.name}`} words="Calls that start executions by this alias will be refused." verb="Delete"
      onConfirm=${async () => { await call('states', 'DeleteStateMachineAlias', { stateMachineAliasArn: asked.arn }); await load(); }} onClose=${() => setAsked(null)} />` : null}`;
}

/** @param {any} props */
function Publish({ machine, revision, done, onClose }) {
  const [description, setDescription] = useState('');
  const { isBusy, problem, run } = useAction();
  const publish = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await call('states', 'PublishStateMachineVersion', { stateMachineArn: machine, ...(description ? { description } : {}), ...(revision ? { revisionId: revision } : {}) });
      await done();
    });
  };
  return html`<${Dialog} title="Publish a version" onClose=${onClose}><form class="form" onSubmit=${publish}><p>The definition and settings as they are now become a version.</p>
    <label>Description <input maxlength="256" value=${description} onInput=${(/** @type {any} */ event) => setDescription(event.target.value)} /></label>
    ${problem ? html`<p class="banner fail" role="alert"><bdi>${problem.message}</bdi></p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>Publish</button></footer></form><//>`;
}

/** The routes of an alias as the operation takes them. @param {{first: string, second: string, weight: string | number}} form */
export function routesOf({ first, second, weight }) {
  const share = Math.round(Number(weight));
  if (!second || second === first || share <= 0) return [{ stateMachineVersionArn: first, weight: 100 }];
  return [{ stateMachineVersionArn: first, weight: 100 - share }, { stateMachineVersionArn: second, weight: share }];
}

/** @param {any} props */
function AliasForm({ alias, versions, done, onClose }) {
  const [one, other] = alias?.routingConfiguration ?? [{ stateMachineVersionArn: versions[0].stateMachineVersionArn, weight: 100 }];
  const [form, setForm] = useState({ name: alias?.name ?? '', description: alias?.description ?? '', first: one.stateMachineVersionArn, second: other?.stateMachineVersionArn ?? '', weight: other?.weight ?? 10 });
  const { isBusy, problem, run } = useAction();
  const machine = versions[0].stateMachineVersionArn.split(':').slice(0, 7).join(':');
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setForm({ ...form, [name]: event.target.value });
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const more = { routingConfiguration: routesOf(form), ...(form.description ? { description: form.description } : {}) };
      if (alias) await call('states', 'UpdateStateMachineAlias', { stateMachineAliasArn: alias.stateMachineAliasArn, ...more });
      else await call('states', 'CreateStateMachineAlias', { name: form.name, ...more });
      await done();
    });
  };
  const arns = [...new Set([...versions.map((/** @type {any} */ version) => version.stateMachineVersionArn), form.first, ...(form.second ? [form.second] : [])])];
  const options = arns.map((arn) => html`<option value=${arn}>Version ${qualifierOf(arn)}</option>`);
  return html`<${Dialog} title=${alias ? `Change ${alias.name}` : 'New alias'} onClose=${onClose}><form class="form" onSubmit=${save}>
    ${alias ? null : html`<label>Name <input required maxlength="80" value=${form.name} onInput=${set('name')} /><span class="faint"><bdi>${machine}:${form.name || '…'}</bdi></span></label>`}
    <label>Version <select value=${form.first} onChange=${set('first')}>${options}</select></label>
    <label>A second version, for a part of the executions <select value=${form.second} onChange=${set('second')}><option value="">None</option>${options}</select></label>
    ${form.second ? html`<label>Percent of executions that run the second <input type="number" min="0" max="100" step="1" value=${form.weight} onInput=${set('weight')} /></label>` : null}
    <label>Description <input maxlength="256" value=${form.description} onInput=${set('description')} /></label>
    ${problem ? html`<p class="banner fail" role="alert"><bdi>${problem.message}</bdi></p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>${alias ? 'Save' : 'Create'}</button></footer></form><//>`;
}
