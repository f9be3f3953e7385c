// The list of executions, newest first, of all machines or one: filters, search, histogram and rows.

import { html, useEffect, useMemo, useRef, useState } from './vendor.js';
import { Bulk } from './bulk.js';
import { moment, plural } from './format.js';
import { filtersOf, isSearch, useExecutions } from './executions_read.js';
import { Filters } from './filters.js';
import { HistogramStrip } from './histogram.js';
import { Icon } from './icons.js';
import { countBy, placeIn } from './list_model.js';
import { go } from './navigation.js';
import { PAGES } from './pages.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Rows } from './rows.js';
import { arnTarget } from './targets.js';

const EVERY_MS = 15_000;

/** @param {{route: any, server: any}} props */
export function Page({ route: { query }, server }) {
  const [isPaused, setPaused] = useState(false);
  const [chosen, setChosen] = useState(/** @type {Set<string> | null} */ (null));
  const found = useExecutions(query, isPaused);
  const filters = filtersOf(query);
  const searched = isSearch(filters);
  const counted = useRead(searched ? null : 'executions/histogram', filters, { every: isPaused ? 0 : EVERY_MS }).found;
  const set = (/** @type {Record<string, string | null>} */ change) => {
    setChosen((/** @type {Set<string> | null} */ before) => (before ? new Set() : null));
    go(format('executions', '', { ...query, ...change }));
  };
  const now = found.nowMs;
  const histogram = useMemo(() => {
    if (!searched) return counted;
    const from = found.lookedBackMs ?? now;
    return found.rows ? countBy(found.rows, from, Math.max(from + 1, Number(query.until) || now)) : null;
  }, [searched, counted, found.rows, found.lookedBackMs, now]);
  const words = !histogram ? '' : searched ? `${(found.rows?.length ?? 0).toLocaleString('en-GB')} found` : counted.isWhole ? plural(counted.counted, 'execution') : `newest ${counted.counted.toLocaleString('en-GB')}`;
  const isFiltered = Object.values(filters).some(Boolean);
  const mistake = found.problem && found.problem.status >= 400 && found.problem.status < 500 ? found.problem : null;
  return html`<header class="head list-head"><h1>Executions</h1><div class="actions">
      ${server?.mayWrite ? html`<button class="action" aria-pressed=${chosen !== null} onClick=${() => setChosen(chosen ? null : new Set())}><${Icon} name="select" />Select</button>` : null}
      ${searched ? null : html`<button class="action" data-key="l" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}><${Icon} name=${isPaused ? 'play' : 'pause'} size=${14} />${isPaused ? 'Go on' : 'Pause'}</button>`}
      ${server?.mayWrite && Object.hasOwn(PAGES, 'start') ? html`<a class="action primary" title=${query.machine ? '' : 'Choose a state machine first'} href=${query.machine ? format('start', query.machine) : format('machines')}><${Icon} name="play" size=${14} />Start</a>` : null}</div></header>
    <section class="card board" aria-label="Executions">
      <div class="filters"><${SearchBox} text=${query.q ?? ''} mistake=${mistake?.code === 'BadQuery' ? mistake : null} onSearch=${(/** @type {string} */ q) => set({ q })} />
        <${Filters} query=${query} set=${set} /></div>
      ${mistake ? html`<p class="note fail" role="alert" id="mistake">${mistake.message} ${isFiltered ? html`<a href=${format('executions')}>Show all</a>` : null}</p>` : null}
      ${chosen ? html`<${Bulk} chosen=${chosen} rows=${found.rows ?? []} filters=${filters} onDone=${() => {
        setChosen(new Set());
        found.again();
      }} />` : null}
      ${mistake ? null : html`<${HistogramStrip} histogram=${histogram} words=${words} now=${now} />`}
      ${searched && !mistake ? html`<${Progress} found=${found} now=${now} />` : null}
      ${found.problem && !mistake ? html`<${Problem} problem=${found.problem} again=${found.again} />` : null}
      ${mistake ? null : !found.rows ? found.problem ? null : html`<p class="faint pad">Reading…</p>`
        : found.rows.length ? html`<${Rows} key=${JSON.stringify(filters)} rows=${found.rows} now=${now} isSearch=${Boolean(query.q)} chosen=${chosen} onChoose=${setChosen}
            more=${found.next && !found.isReading ? found.more : null} moreWords=${searched ? 'Look further' : 'Show older executions'} />`
          : found.isReading ? null : html`<${Nothing} isFiltered=${isFiltered} found=${found} />`}
    </section>`;
}

/** @param {{text: string, mistake: any, onSearch: (text: string) => void}} props */
function SearchBox({ text, mistake, onSearch }) {
  const [typed, setTyped] = useState(text);
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    const place = mistake ? placeIn(mistake.message) : null;
    if (place !== null && document.activeElement === box.current) box.current.setSelectionRange(place, place + 1);
  }, [mistake]);
  const search = (/** @type {Event} */ event) => {
    event.preventDefault();
    const target = arnTarget(typed.trim());
    if (target && typed.includes(':execution:')) go(target.address);
    else onSearch(typed.trim());
  };
  return html`<form class="searching" role="search" onSubmit=${search}><button class="action square" aria-label="Search"><${Icon} name="search" /></button>
    <input ref=${box} type="search" aria-label="Search in names, inputs, outputs and errors" aria-invalid=${mistake ? 'true' : null} aria-describedby=${mistake ? 'mistake' : null} spellcheck=${false} autocomplete="off"
      placeholder='Name, ARN, error, or input.order = "order-2391"' value=${typed} onInput=${(/** @type {any} */ event) => {
        setTyped(event.target.value);
        if (!event.target.value && text) onSearch('');
      }} /></form>`;
}

/** @param {{found: import('./executions_read.js').Found, now: number}} props */
function Progress({ found, now }) {
  const back = found.lookedBackMs === null ? '' : ` to ${moment(found.lookedBackMs, now)}`;
  const isWhole = !found.isReading && !found.isStopped && !found.next;
  const words = found.isReading ? `Looked back${back}, at ${plural(found.looked, 'execution')}` : isWhole ? `Looked at all ${plural(found.looked, 'execution')}` : `${found.isStopped ? 'Stopped' : `${found.rows?.length ?? 0} found`}; looked back${back}, at ${plural(found.looked, 'execution')}`;
  return html`<div class="note progress"><span role="status">${words}.</span>
    ${found.isReading ? html`<button class="link" onClick=${found.stop}>Stop</button>` : found.next ? html`<button class="link" onClick=${found.more}>Look further</button>` : null}</div>`;
}

/** @param {{isFiltered: boolean, found: any}} props */
function Nothing({ isFiltered, found }) {
  if (!isFiltered) return html`<div class="empty"><h2>Nothing has run yet</h2><p>Start an execution with any AWS SDK, or with <code>statewright execution start MACHINE</code>.</p></div>`;
  return html`<div class="empty"><p>${found.next ? 'Nothing was found so far.' : 'No execution matches.'} <a href=${format('executions')}>Show all</a></p></div>`;
}
