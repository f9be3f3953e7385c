// Saving the text of the Workbench: a new version of its state machine, after the difference, or a new state machine.

import { html, useEffect, useState } from './vendor.js';
import { act, call } from './api.js';
import { Difference } from './definition_diff.js';
import { Dialog, useAction } from './dialogs.js';
import { HIDDEN } from './json_text.js';

/** @param {any} props */
export function NewVersion({ draft, setDraft, definition, onClose }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [refused, setRefused] = useState(/** @type {Error | null} */ (null));
  const [form, setForm] = useState({ publish: true, description: '' });
  const { isBusy, problem, run } = useAction();
  const { source } = draft;
  useEffect(() => {
    call('states', 'DescribeStateMachine', { stateMachineArn: source.arn }).then(async (stored) => {
      const difference = await act('workbench/difference', { before: stored.definition, text: definition });
      setFound({ stored, difference });
    }).catch(setRefused);
  }, []);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const request = { stateMachineArn: source.arn, definition, publish: form.publish, ...(form.publish && form.description ? { versionDescription: form.description } : {}) };
      const saved = await call('states', 'UpdateStateMachine', request);
      setDraft({ ...draft, saved: draft.text, source: { ...source, revisionId: saved.revisionId ?? '' } });
      onClose();
    });
  };
  const isHidden = definition.includes(HIDDEN);
  const isOther = found && source.revisionId && found.stored.revisionId !== source.revisionId;
  return html`<${Dialog} title=${`Save ${source.name}`} wide=${true} onClose=${onClose}><form class="form" onSubmit=${save}>
    ${refused ? html`<p class="banner fail" role="alert">${refused.message}</p>` : null}
    ${isHidden ? html`<p class="banner fail" role="alert">The text has values that the settings hide (${HIDDEN}). Saving it would put ${HIDDEN} in their place; write the values first.</p>` : null}
    ${isOther ? html`<p class="banner wait" role="alert">The state machine has changed since it was opened here. The difference is with what it is now.</p>` : null}
    ${found ? html`<${Difference} found=${found.difference} words=${['Stored', 'This text']} />` : refused ? null : html`<p class="faint" role="status">Comparing…</p>`}
    <label class="choice"><input type="checkbox" checked=${form.publish} onChange=${(/** @type {any} */ event) => setForm({ ...form, publish: event.target.checked })} /> Publish it as a version</label>
    ${form.publish ? html`<label>Description of the version <input value=${form.description} maxlength="256" onInput=${(/** @type {any} */ event) => setForm({ ...form, description: event.target.value })} /></label>` : null}
    ${problem ? html`<p class="banner fail" role="alert"><span><bdi>${problem.message}</bdi></span></p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy || !found || isHidden}>Save</button></footer></form><//>`;
}

/** @param {any} props */
export function NewMachine({ draft, setDraft, server, definition, onClose }) {
  const account = server?.account ?? '000000000000';
  const [form, setForm] = useState({ name: '', type: draft.source?.type ?? 'STANDARD', roleArn: draft.source?.roleArn ?? `arn:aws:iam::${account}:role/workbench` });
  const { isBusy, problem, run } = useAction();
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setForm({ ...form, [name]: event.target.value });
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const made = await call('states', 'CreateStateMachine', { ...form, definition });
      setDraft({ ...draft, saved: draft.text, source: { arn: made.stateMachineArn, name: form.name, roleArn: form.roleArn, type: form.type, revisionId: '' } });
      onClose();
    });
  };
  return html`<${Dialog} title="New state machine" onClose=${onClose}><form class="form" onSubmit=${save}>
    <label>Name <input required maxlength="80" value=${form.name} onInput=${set('name')} /></label>
    <label>Type <select value=${form.type} onChange=${set('type')}><option value="STANDARD">Standard</option><option value="EXPRESS">Express</option></select></label>
    <label>Role <input required value=${form.roleArn} onInput=${set('roleArn')} /></label>
    ${definition.includes(HIDDEN) ? html`<p class="banner fail" role="alert">The text has values that the settings hide (${HIDDEN}); write the values first.</p>` : null}
    ${problem ? html`<p class="banner fail" role="alert"><span><bdi>${problem.message}</bdi></span></p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy || definition.includes(HIDDEN)}>Create</button></footer></form><//>`;
}
