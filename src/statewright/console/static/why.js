// Why a value of a state's input or output is what it is: a line is chosen, and its value followed back over states.

import { html, useEffect, useRef, useState } from './vendor.js';
import { parsed } from './diff.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { loadStyle } from './styles.js';
import { endWords, fieldWords, howWords, membersOf, placeWords, pointerOf } from './why_words.js';

const MOST_MEMBERS = 60;
const LONGEST_SHOWN = 200;
const TABS = { input: 'input', output: 'output', assigned: 'changes' };

/** Below the lines of a payload, which it watches. @param {{run: any, visit: import('./model.js').Visit, where: string}} props */
export function Why({ run, visit, where }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [pointer, setPointer] = useState('');
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    loadStyle('why.css').catch(() => {});
    const box = place.current?.parentElement?.querySelector('.json');
    return box ? watchLines(/** @type {HTMLElement} */ (box), setPointer, () => setOpen(true)) : undefined;
  }, []);
  const choose = (/** @type {string} */ chosen) => {
    setPointer(chosen);
    setOpen(true);
  };
  return html`<section class="why" ref=${place} aria-label="Why"><p class="asked"><code>${pointer || `the whole ${where}`}</code>
      <button class="action" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Why</button></p>
    ${isOpen ? html`<${Chain} run=${run} visit=${visit} where=${where} pointer=${pointer} choose=${choose} />` : null}</section>`;
}

/**
 * Chooses the line that is clicked, or the one that arrow keys lead to; Enter opens it.
 * @param {HTMLElement} box @param {(pointer: string) => void} choose @param {() => void} open
 */
function watchLines(box, choose, open) {
  const chosen = () => box.querySelector('[aria-current]');
  const pick = (/** @type {Element | null | undefined} */ line) => {
    const pointer = line ? pointerOf(/** @type {HTMLElement} */ (line).dataset.path ?? '') : null;
    if (!line || pointer === null) return false;
    chosen()?.removeAttribute('aria-current');
    line.setAttribute('aria-current', 'true');
    line.scrollIntoView({ block: 'nearest' });
    choose(pointer);
    return true;
  };
  const click = (/** @type {MouseEvent} */ event) => {
    // Text that is being selected is not a choice.
    if (getSelection()?.isCollapsed !== false) pick(/** @type {Element} */ (event.target).closest('[data-path]'));
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== box || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.key === 'ArrowDown' ? 'nextElementSibling' : 'previousElementSibling';
    if (event.key === 'Enter' && chosen()) open();
    else if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    else pick(chosen()?.[step] ?? chosen() ?? box.firstElementChild);
    event.preventDefault();
  };
  box.addEventListener('click', click);
  box.addEventListener('keydown', press);
  return () => {
    chosen()?.removeAttribute('aria-current');
    box.removeEventListener('click', click);
    box.removeEventListener('keydown', press);
  };
}

/** @param {any} props */
function Chain({ run, visit, where, pointer, choose }) {
  const { arn } = run.head;
  // Read again when the visit has ended.
  const { found, problem } = useRead('run/why', { arn, event: visit.begin, where, path: pointer, _: visit.end });
  if (problem) return html`<p class="fail pad" role="alert">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Following…</p>`;
  const { value } = found.links[0];
  const members = membersOf(parsed(value ?? 'null'), pointer, MOST_MEMBERS);
  return html`<p class="value"><code>${cut(value)}</code></p><ol class="chain">${found.links.map((/** @type {import('./why_words.js').Link} */ link) => html`<li><${Place} run=${run} spot=${link} />
      <p>${howWords(link)}${link.fields.length ? html`, by <code>${fieldWords(link.fields)}</code>` : null}</p></li>`)}</ol>
    <p class="end">${endWords(found.end)}</p>
    ${found.end.reads.length ? html`<ul class="chain">${found.end.reads.map((/** @type {any} */ one) => html`<li><code>${one.expression}</code> was <code>${cut(one.value)}</code> <${Place} run=${run} spot=${one} /></li>`)}</ul>` : null}
    ${pointer || members.length ? html`<div class="members" role="group" aria-label="Members">${pointer ? html`<button class="action" onClick=${() => choose(pointer.slice(0, pointer.lastIndexOf('/')))}>All around it</button>` : null}
      ${members.map(([name, inner]) => html`<button class="action" key=${inner} onClick=${() => choose(inner)}><bdi>${cut(name)}</bdi></button>`)}</div>` : null}`;
}

/** @param {{run: any, spot: import('./why_words.js').Spot}} props */
function Place({ run, spot }) {
  const visit = run.visits.find((/** @type {any} */ one) => one.begin === spot.event);
  const [words, path] = placeWords(spot);
  return html`<a href=${format('execution', run.head.arn, { state: spot.state, visit: visit?.index, tab: TABS[spot.where] })}><bdi>${spot.state}</bdi></a>
    <span class="faint"> ${words} ${path ? html`<code>${path}</code>` : null}, event ${spot.event}</span>`;
}

/** @param {string | null} text */
function cut(text) {
  return text !== null && text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
