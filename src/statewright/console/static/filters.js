// The filters above the list of executions; each stands in the address.

import { html, useEffect, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { Dialog } from './dialogs.js';
import { duration, instant } from './format.js';
import { Icon } from './icons.js';
import { milliseconds } from './list_model.js';

const HOUR_MS = 3_600_000;
/** @type {[string, string][]} */
const STATUSES = [['', 'any'], ['RUNNING', 'running'], ['waiting', 'waiting > 1 h'], ['SUCCEEDED', 'succeeded'], ['failed', 'failed, any way'], ['FAILED', 'failed'], ['TIMED_OUT', 'timed out'], ['ABORTED', 'aborted'], ['PENDING_REDRIVE', 'pending redrive']];
/** @type {[string, string][]} */
const STARTED = [['', 'any time'], ['900000', 'last 15 min'], ['3600000', 'last hour'], ['86400000', 'last 24 h'], ['604800000', 'last 7 days']];
/** @type {[string, string][]} */
const TOOK = [['', 'any'], ['1000', '> 1 s'], ['10000', '> 10 s'], ['60000', '> 1 min'], ['600000', '> 10 min'], ['3600000', '> 1 h']];

/** @param {{query: Record<string, string>, set: (change: Record<string, string | null>) => void}} props */
export function Filters({ query, set }) {
  const [dialog, setDialog] = useState('');
  const isBetween = Boolean(query.since || query.until);
  const waiting = Number(query.waiting) || 0;
  const status = waiting ? 'waiting' : query.status ?? '';
  const statuses = waiting && waiting !== HOUR_MS ? STATUSES.map(([key, words]) => /** @type {[string, string]} */ ([key, key === 'waiting' ? `waiting > ${duration(waiting)}` : words])) : STATUSES;
  const within = isBetween ? 'between' : query.within ?? '';
  const between = query.since ? `since ${instant(Number(query.since) || 0)}` : `until ${instant(Number(query.until) || 0)}`;
  return html`<${Choice} name="Status" value=${status} options=${statuses} onChange=${(/** @type {string} */ value) => set(value === 'waiting' ? { status: null, waiting: String(HOUR_MS) } : { status: value, waiting: null })} />
    <${MachineChoice} value=${query.machine ?? ''} onChange=${(/** @type {string} */ machine) => set({ machine })} />
    <${Choice} name="Started" value=${within} options=${known(STARTED, within, within === 'between' ? between : `last ${duration(Number(within) || 0)}`, [['other', 'between…']])} onChange=${(/** @type {string} */ value) => (value === 'other' ? setDialog('between') : value === 'between' ? undefined : set({ within: value, since: null, until: null }))} />
    <${Choice} name="Took" value=${query.took ?? ''} options=${known(TOOK, query.took ?? '', `> ${duration(Number(query.took) || 0)}`, [['other', 'more than…']])} onChange=${(/** @type {string} */ value) => (value === 'other' ? setDialog('took') : set({ took: value }))} />
    ${dialog === 'between' ? html`<${Between} query=${query} onClose=${() => setDialog('')} onChoose=${(/** @type {any} */ bounds) => set({ within: null, ...bounds })} />` : null}
    ${dialog === 'took' ? html`<${Took} onClose=${() => setDialog('')} onChoose=${(/** @type {string} */ took) => set({ took })} />` : null}`;
}

/** Options with one for a value of the address that is none of them. @param {[string, string][]} options @param {string} value @param {string} words @param {[string, string][]} more @returns {[string, string][]} */
function known(options, value, words, more) {
  const own = options.some(([key]) => key === value) ? [] : [/** @type {[string, string]} */ ([value, words])];
  return [...options, ...own, ...more];
}

/** @param {{name: string, value: string, options: [string, string][], onChange: (value: string) => void}} props */
export function Choice({ name, value, options, onChange }) {
  const words = options.find(([key]) => key === value)?.[1] ?? value;
  return html`<label class="choice"><span>${name}</span><b aria-hidden="true">${words}</b><${Icon} name="down" size=${12} /><select aria-label=${name} value=${value} onChange=${(/** @type {any} */ event) => {
    const chosen = event.target.value;
    // A choice that opens a dialog is none yet.
    if (chosen === 'other') event.target.value = value;
    onChange(chosen);
  }}>${options.map(([key, said]) => html`<option key=${key} value=${key} selected=${key === value}>${said}</option>`)}</select></label>`;
}

/** @param {{value: string, onChange: (arn: string) => void}} props */
function MachineChoice({ value, onChange }) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const [machines, setMachines] = useState(/** @type {any[] | null} */ (null));
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (!isOpen) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => read('find', { name: text }, stop.signal).then(({ machines: found }) => (stop.signal.aborted ? undefined : setMachines(found)), () => {}), text ? 120 : 0);
    const outside = (/** @type {any} */ event) => (box.current?.contains(event.target) ? undefined : setOpen(false));
    document.addEventListener('pointerdown', outside);
    return () => {
      clearTimeout(timer);
      stop.abort();
      document.removeEventListener('pointerdown', outside);
    };
  }, [isOpen, text]);
  const choose = (/** @type {string} */ arn) => {
    setOpen(false);
    setText('');
    box.current?.querySelector('button')?.focus();
    onChange(arn);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      setOpen(false);
      box.current?.querySelector('button')?.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const parts = [...box.current.querySelectorAll('.menu input, .menu button')];
      const at = parts.indexOf(document.activeElement);
      parts[(at + (event.key === 'ArrowDown' ? 1 : -1) + parts.length) % parts.length]?.focus();
    } else if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
      event.preventDefault();
      if (machines?.length) choose(machines[0].arn);
    }
  };
  return html`<div class="choice-box" ref=${box} onKeyDown=${press}><button class="choice" aria-haspopup="true" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><span>Machine</span><b><bdi>${value ? value.split(':')[6] ?? value : 'any'}</bdi></b><${Icon} name="down" size=${12} /></button>
    ${isOpen ? html`<div class="menu card"><input ref=${(/** @type {any} */ input) => input?.focus()} aria-label="Name of a state machine" placeholder="Name" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
      ${value ? html`<button onClick=${() => choose('')}>any</button>` : null}
      ${machines === null ? html`<p class="faint">Reading…</p>` : machines.length ? machines.map((one) => html`<button key=${one.arn} onClick=${() => choose(one.arn)}><bdi>${one.name}</bdi></button>`) : html`<p class="faint">No state machine has this name.</p>`}</div>` : null}</div>`;
}

/** @param {{query: Record<string, string>, onClose: () => void, onChoose: (bounds: {since: string | null, until: string | null}) => void}} props */
function Between({ query, onClose, onChoose }) {
  const [since, setSince] = useState(written(query.since));
  const [until, setUntil] = useState(written(query.until));
  const [from, to] = [readInstant(since), readInstant(until)];
  const wrong = Number.isNaN(from) || Number.isNaN(to) ? 'A time is written as 2026-11-24T14:00:00Z, or without the Z in the zone of this browser.' : from !== null && to !== null && from > to ? 'The first time is after the second one.' : '';
  return html`<${Dialog} title="Started between" onClose=${onClose}><form class="form" onSubmit=${(/** @type {Event} */ event) => {
    event.preventDefault();
    onChoose({ since: from === null ? null : String(from), until: to === null ? null : String(to) });
    onClose();
  }}><label>Not before <input placeholder="2026-11-24T14:00:00Z" value=${since} onInput=${(/** @type {any} */ event) => setSince(event.target.value)} /></label>
    <label>Not after <input placeholder="now" value=${until} onInput=${(/** @type {any} */ event) => setUntil(event.target.value)} /></label>
    ${wrong ? html`<p class="fail" role="alert">${wrong}</p>` : null}<footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${Boolean(wrong)}>Show</button></footer></form><//>`;
}

/** @param {string | undefined} ms */
function written(ms) {
  return ms && Number.isFinite(Number(ms)) ? new Date(Number(ms)).toISOString() : '';
}

/** @param {string} text @returns {number | null}  NaN for what is no time */
function readInstant(text) {
  return text.trim() ? Date.parse(text.trim()) : null;
}

/** @param {{onClose: () => void, onChoose: (took: string) => void}} props */
function Took({ onClose, onChoose }) {
  const [text, setText] = useState('');
  const ms = milliseconds(text);
  return html`<${Dialog} title="Took more than" onClose=${onClose}><form class="form" onSubmit=${(/** @type {Event} */ event) => {
    event.preventDefault();
    onChoose(String(ms));
    onClose();
  }}><label>Length of time <input placeholder="90 s" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    ${text && ms === null ? html`<p class="fail" role="alert">A length of time is written as 500 ms, 90 s, 5 min, 2 h or 1 d.</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${ms === null}>Show</button></footer></form><//>`;
}
