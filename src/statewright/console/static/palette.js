// The palette: pages, state machines, executions by name or ARN, and actions, by typing a part of them.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { read } from './api.js';
import { chooseZone, zone } from './format.js';
import { Icon } from './icons.js';
import { overlay } from './keys.js';
import { go } from './navigation.js';
import { PAGES } from './pages.js';
import { THEMES, chooseTheme, theme } from './preferences.js';
import { format } from './route.js';
import { arnTarget, machineAddress } from './targets.js';

/** @typedef {{key: string, group: string, icon: string, words: string, more?: string, run: () => void}} Entry */

const PAUSE_MS = 120;

function close() {
  overlay.value = '';
}

export function Palette() {
  const [text, setText] = useState('');
  const [found, setFound] = useState(/** @type {any} */ ({ executions: [], machines: [] }));
  const [place, setPlace] = useState(0);
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      read('find', { name: text }, stop.signal).then((answer) => {
        if (!stop.signal.aborted) setFound(answer);
      }, () => {});
    }, text ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const entries = useMemo(() => entriesOf(text.trim(), found), [text, found]);
  const chosen = Math.min(place, entries.length - 1);
  const take = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    close();
    entry.run();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    if (by && entries.length) {
      event.preventDefault();
      const next = (chosen + by + entries.length) % entries.length;
      setPlace(next);
      document.getElementById(`palette-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      take(entries[chosen]);
    }
  };
  return html`<dialog class="dialog palette" ref=${box} aria-label="Search and go" onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }} onClick=${(/** @type {any} */ event) => (event.target === box.current ? close() : undefined)}>
    <div class="box"><${Icon} name="search" /><input role="combobox" aria-label="Search and go" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${entries.length ? `palette-${chosen}` : null}
      autofocus autocomplete="off" spellcheck=${false} placeholder="Page, state machine, execution, ARN, action" value=${text} onKeyDown=${press} onInput=${(/** @type {any} */ event) => {
        setText(event.target.value);
        setPlace(0);
      }} /><kbd>Esc</kbd></div>
    <div id="palette-list" role="listbox" aria-label="Found" class="pad">${entries.length ? groupsOf(entries).map(([group, members]) => html`<div role="group" key=${group} aria-label=${group}><h3 aria-hidden="true">${group}</h3>
      ${members.map(([entry, at]) => html`<div key=${entry.key} id=${`palette-${at}`} role="option" aria-selected=${at === chosen} onClick=${() => take(entry)} onPointerMove=${() => (at === chosen ? undefined : setPlace(at))}>
        <${Icon} name=${entry.icon} /><bdi>${entry.words}</bdi>${entry.more ? html`<span class="more-words"><bdi>${entry.more}</bdi></span>` : null}</div>`)}</div>`) : html`<p class="faint pad">Nothing has this name.</p>`}</div></dialog>`;
}

/** @param {string} text @param {any} found @returns {Entry[]} */
function entriesOf(text, found) {
  const wanted = text.toLowerCase();
  const has = (/** @type {string} */ words) => words.toLowerCase().includes(wanted);
  const to = (/** @type {string} */ address) => () => go(address);
  /** @type {Entry[]} */
  const entries = [];
  const target = arnTarget(text);
  if (target) entries.push({ key: 'arn', group: 'ARN', icon: target.icon, words: target.words, more: text.slice(0, 60), run: to(target.address) });
  for (const one of found.executions) entries.push({ key: one.arn, group: 'Executions', icon: 'list', words: one.name, more: `${one.machine} · ${one.status.toLowerCase().replace('_', ' ')}`, run: to(format('execution', one.arn)) });
  for (const [name, page] of Object.entries(PAGES)) {
    if (page.group && has(page.title)) entries.push({ key: `page ${name}`, group: 'Pages', icon: page.icon ?? 'right', words: page.title, run: to(format(name)) });
  }
  if (text && !target) {
    for (const one of found.machines) {
      entries.push({ key: one.arn, group: 'State machines', icon: 'machine', words: one.name, run: to(machineAddress(one.arn)) });
      if (one.name.toLowerCase() === wanted) entries.push({ key: `of ${one.arn}`, group: 'State machines', icon: 'list', words: `Executions of ${one.name}`, run: to(format('executions', '', { machine: one.arn })) });
      if (one.name.toLowerCase() === wanted && Object.hasOwn(PAGES, 'start')) entries.push({ key: `start ${one.arn}`, group: 'Actions', icon: 'play', words: `Start ${one.name}`, run: to(format('start', one.arn)) });
    }
    entries.push({ key: 'search', group: 'Executions', icon: 'search', words: `Search executions for ${text}`, run: to(format('executions', '', { q: text })) });
  }
  for (const [name, words, icon] of THEMES) {
    if (theme.value !== name && has(`Theme: ${words}`)) entries.push({ key: `theme ${name}`, group: 'Actions', icon, words: `Theme: ${words}`, run: () => chooseTheme(name) });
  }
  const other = zone.value === 'UTC' ? 'local' : 'UTC';
  if (has(`Times in ${other}`)) entries.push({ key: 'zone', group: 'Actions', icon: 'clock', words: `Times in ${other === 'UTC' ? 'UTC' : 'local time'}`, run: () => chooseZone(other) });
  if (has('Keys')) entries.push({ key: 'keys', group: 'Actions', icon: 'question', words: 'Keys', more: '?', run: () => (overlay.value = 'help') });
  const groups = ['ARN', 'Executions', 'State machines', 'Pages', 'Actions'];
  return entries.sort((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group));
}

/** @param {Entry[]} entries @returns {[string, [Entry, number][]][]} */
function groupsOf(entries) {
  /** @type {Map<string, [Entry, number][]>} */
  const groups = new Map();
  entries.forEach((entry, at) => groups.set(entry.group, [...(groups.get(entry.group) ?? []), [entry, at]]));
  return [...groups];
}
