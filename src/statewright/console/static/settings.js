// Settings: the server, this sign-in and others of the account, and what the page keeps for itself.

import { html, useState } from './vendor.js';
import { act } from './api.js';
import { Confirm } from './dialogs.js';
import { ago, duration, instant, iso } from './format.js';
import { signOut } from './login.js';
import { Preferences } from './preferences.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';

const OFTEN_MS = 10_000;

/** Sections that other parts of the page bring: a title and a component each. @type {{title: string, Section: (props: {server: any}) => any}[]} */
export const SECTIONS = [{ title: 'Look', Section: Preferences }];

/** @param {any} props */
export function Page({ server }) {
  const facts = useRead('settings');
  const signIns = useRead('sessions', {}, { every: OFTEN_MS });
  return html`<header class="head"><h1>Settings</h1></header>
    ${facts.problem ? html`<${Problem} problem=${facts.problem} again=${facts.again} />` : null}
    ${facts.found ? html`<section class="card settings" aria-labelledby="server"><h2 id="server">Server</h2><${Facts} found=${facts.found} /></section>` : null}
    ${SECTIONS.map(({ title, Section }) => html`<section class="card settings" key=${title}><h2>${title}</h2><${Section} server=${server} /></section>`)}
    <section class="card settings" aria-labelledby="sign-ins"><h2 id="sign-ins">Sign-ins</h2>
      ${signIns.problem ? html`<${Problem} problem=${signIns.problem} again=${signIns.again} />` : null}
      ${signIns.found ? html`<${SignIns} found=${signIns.found} server=${server} again=${signIns.again} />` : signIns.problem ? null : html`<p class="faint">Reading…</p>`}</section>`;
}

/** @param {any} props */
function Facts({ found }) {
  const fact = (/** @type {string} */ words, /** @type {any} */ value) => html`<div><dt>${words}</dt><dd>${value}</dd></div>`;
  return html`<dl class="factbar">${fact('Statewright', found.version)}${fact('Python', found.python)}${fact('Data', html`<bdi>${found.place || 'not known'}</bdi>`)}
    ${fact('Account', found.account)}${fact(found.regions.length > 1 ? 'Regions in use' : 'Region', found.regions.join(', '))}
    ${fact('Signatures', found.hasCredentials ? 'verified' : 'not verified')}${found.timeScale === 1 ? null : fact('Waits take', `${found.timeScale} × their time`)}</dl>`;
}

/** @param {any} props */
function SignIns({ found, server, again }) {
  const [chosen, setChosen] = useState(/** @type {any} */ (null));
  if (found.user) return html`<p>A proxy has signed you in as <b><bdi>${found.user}</bdi></b>.</p>`;
  if (!found.sessions.length) return html`<p>This server asks no one to sign in. It does once its <code>statewright.toml</code> has <code>[credentials]</code>, or <code>login = "always"</code> under <code>[console]</code>.</p>`;
  const now = Date.now();
  const mine = found.sessions.find((/** @type {any} */ one) => one.isThis);
  const mayEnd = (/** @type {any} */ one) => one.isThis || server?.mayWrite;
  return html`<div class="scroll"><table class="list"><thead><tr><th>Access key</th><th>May</th><th>Since (UTC)</th><th>Ends in</th><th></th></tr></thead>
    <tbody>${found.sessions.map((/** @type {any} */ one) => html`<tr key=${one.id} class=${one.isThis ? 'on' : ''}><td class="name"><bdi>${one.accessKey || 'without a key'}</bdi>${one.isThis ? html` <span class="badge t-accent">this one</span>` : null}${one.isTemporary ? html` <span class="faint">temporary</span>` : null}</td>
      <td>${one.mayWrite ? 'read and write' : 'read'}</td><td title=${iso(one.createdMs)}>${instant(one.createdMs)} <span class="faint">${ago(one.createdMs, now)}</span></td>
      <td title=${iso(one.expiresMs)}>${duration(Math.max(0, one.expiresMs - now))}</td>
      <td class="end">${mayEnd(one) ? html`<button class="action" onClick=${() => setChosen(one)}>${one.isThis ? 'Sign out' : 'End'}</button>` : null}</td></tr>`)}</tbody></table></div>
    ${chosen ? html`<${Confirm} title=${chosen.isThis ? 'Sign out' : 'End this sign-in'} verb=${chosen.isThis ? 'Sign out' : 'End it'} onClose=${() => setChosen(null)}
      words=${chosen.isThis ? 'The pages of this sign-in, in all tabs, ask for a new link.' : html`Pages of this sign-in of <b><bdi>${chosen.accessKey || 'a user without a key'}</bdi></b> stop at once, and ask for a new link.`}
      onConfirm=${async () => {
        if (chosen.id === mine?.id) await signOut(chosen.id);
        else await act('sessions/end', { id: chosen.id });
        again();
      }} />` : null}`;
}
