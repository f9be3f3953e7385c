// The rows of a list of executions. Only those near the view are drawn; j and k go from one to the next.

import { html, useEffect, useLayoutEffect, useRef, useState } from './vendor.js';
import { ago, duration, iso } from './format.js';
import { Icon, StatusBadge } from './icons.js';
import { isTyping } from './keys.js';
import { barWidth, mostOf, tookMs, windowOf } from './list_model.js';
import { format } from './route.js';

const ROW = 34;
/** @type {Record<string, string>} */
const TONES = { SUCCEEDED: 'ok', FAILED: 'fail', TIMED_OUT: 'fail', ABORTED: 'idle', RUNNING: 'run' };

/** @param {{rows: import('./list_model.js').Listed[], now: number, isSearch: boolean, chosen: Set<string> | null, onChoose: (chosen: Set<string>) => void, more: (() => void) | null, moreWords: string}} props */
export function Rows({ rows, now, isSearch, chosen, onChoose, more, moreWords }) {
  const box = useRef(/** @type {any} */ (null));
  const [view, setView] = useState({ scrolled: 0, room: 900 });
  const [current, setCurrent] = useState('');
  const isByKey = useRef(false);
  const look = () => setView({ scrolled: box.current.scrollTop, room: box.current.clientHeight });
  useEffect(look, []);
  const part = windowOf(rows.length, view.scrolled, view.room, ROW);
  const shown = rows.slice(part.first, part.last);
  const first = rows.slice(0, 200);
  const over = first.filter((row) => row.stoppedMs !== null);
  const most = mostOf((over.length ? over : first).map((row) => tookMs(row, now)));
  const focus = (/** @type {number} */ place) => {
    const row = rows[place];
    if (!row) return;
    const top = place * ROW;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    else if (top + 2 * ROW > box.current.scrollTop + box.current.clientHeight - ROW) box.current.scrollTop = top + 3 * ROW - box.current.clientHeight;
    isByKey.current = true;
    setCurrent(row.arn);
    look();
  };
  useLayoutEffect(() => {
    // A row that was drawn anew has lost its focus; one that is elsewhere by now stays there.
    const active = document.activeElement;
    if (!current || !(isByKey.current || active === document.body || box.current.contains(active))) return;
    isByKey.current = false;
    /** @type {HTMLElement | null} */ (box.current.querySelector(`[data-arn="${CSS.escape(current)}"] .name a, [data-arn="${CSS.escape(current)}"] .name span`))?.focus({ preventScroll: true });
  }, [current, part.first]);
  const toggle = (/** @type {string} */ arn) => {
    const next = new Set(chosen);
    if (!next.delete(arn)) next.add(arn);
    onChoose(next);
  };
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
      const inside = /** @type {HTMLElement} */ (event.target).closest?.('[data-arn]')?.getAttribute('data-arn');
      const at = rows.findIndex((row) => row.arn === (inside ?? current));
      if (event.key === 'j' || event.key === 'k') focus(at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1))));
      else if (event.key === 'x' && chosen && at >= 0) toggle(rows[at].arn);
      else if (event.key === 'y' && at >= 0) navigator.clipboard?.writeText(rows[at].arn);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const columns = 6 + (chosen ? 1 : 0);
  return html`<div class="scroll grow rows" ref=${box} onScroll=${look}><table class="list executions" aria-rowcount=${rows.length + 1}>
    <thead><tr aria-rowindex="1">${chosen ? html`<th><input type="checkbox" aria-label="Choose all rows that are shown" checked=${rows.length > 0 && rows.every((row) => chosen.has(row.arn))} onChange=${(/** @type {any} */ event) => onChoose(event.target.checked ? new Set(rows.map((row) => row.arn)) : new Set())} /></th>` : null}
      <th>Status</th><th>Name</th><th>State machine</th><th>Started</th><th>Took</th><th>${isSearch ? 'Found in' : 'Error'}</th></tr></thead>
    <tbody><${Room} height=${part.before} columns=${columns} />${shown.map((row, place) => html`<${One} key=${row.arn} row=${row} index=${part.first + place + 2} now=${now} most=${most} isSearch=${isSearch} isChosen=${chosen ? chosen.has(row.arn) : null} onToggle=${toggle} onFocus=${setCurrent} />`)}
      <${Room} height=${part.after} columns=${columns} /></tbody></table>
    ${more ? html`<button class="more" onClick=${more}>${moreWords}</button>` : null}</div>`;
}

/** The room of rows that are not drawn. @param {{height: number, columns: number}} props */
function Room({ height, columns }) {
  if (!height) return null;
  return html`<tr class="room" aria-hidden="true"><td colspan=${columns} ref=${(/** @type {any} */ cell) => {
    if (cell) cell.style.height = `${height}px`;
  }}></td></tr>`;
}

/** @param {{row: import('./list_model.js').Listed, index: number, now: number, most: number, isSearch: boolean, isChosen: boolean | null, onToggle: (arn: string) => void, onFocus: (arn: string) => void}} props */
function One({ row, index, now, most, isSearch, isChosen, onToggle, onFocus }) {
  const took = tookMs(row, now);
  const isExpress = row.type === 'EXPRESS';
  return html`<tr data-arn=${row.arn} aria-rowindex=${index} class=${isChosen ? 'on' : ''} onFocusIn=${() => onFocus(row.arn)}>
    ${isChosen === null ? null : html`<td><input type="checkbox" aria-label=${`Choose ${row.name}`} checked=${isChosen} onChange=${() => onToggle(row.arn)} /></td>`}
    <td><${StatusBadge} status=${row.status} /></td>
    <td class="name">${isExpress ? html`<span tabindex="-1"><bdi>${row.name}</bdi> <i class="faint">Express</i></span>` : html`<a href=${format('execution', row.arn)} title=${row.name}><bdi>${row.name}</bdi></a>`}
      <button class="copy" aria-label=${`Copy the ARN of ${row.name}`} title=${row.arn} onClick=${() => navigator.clipboard?.writeText(row.arn)}><${Icon} name="copy" size=${12} /></button></td>
    <td class="quiet"><a href=${format('executions', '', { machine: row.machineArn })} title="Executions of this state machine alone"><bdi>${row.machine}</bdi></a></td>
    <td class="quiet" title=${iso(row.startedMs)}>${ago(row.startedMs, now)}</td>
    <td class="took" title=${row.stoppedMs === null ? `so far, since ${iso(row.startedMs)}` : `until ${iso(row.stoppedMs)}`}><span class=${`bar b-${TONES[row.status] ?? 'idle'}`} ref=${(/** @type {any} */ bar) => {
      if (bar) bar.style.width = `${barWidth(took, most)}px`;
    }}></span>${duration(took)}${row.stoppedMs === null ? html`<span class="unseen"> so far</span>` : null}</td>
    <td class="said">${isSearch && row.found ? html`<${Found} found=${row.found} />` : row.error ? html`<span class="mono" title=${row.cause ?? ''}><bdi>${row.error}${row.cause ? `: ${row.cause}` : ''}</bdi></span>` : null}</td></tr>`;
}

/** @param {{found: {where: string, before: string, match: string, after: string}}} props */
function Found({ found }) {
  return html`<span class="mono" title=${`${found.where}: ${found.before}${found.match}${found.after}`}><bdi>${found.where}</bdi>: <bdi>${found.before}<mark>${found.match}</mark>${found.after}</bdi></span>`;
}
