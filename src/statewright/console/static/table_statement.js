// Statements of PartiQL that read a table.

import { html, useState } from './vendor.js';
import { act } from './api.js';
import { useAction } from './dialogs.js';
import { Found, ItemDialog } from './table_items.js';

/** @param {{table: any, route: import('./route.js').Route, server: any}} props */
export function Statement({ table, server }) {
  const [text, setText] = useState(`SELECT * FROM "${table.TableName}"`);
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const keys = table.KeySchema.map((/** @type {any} */ one) => one.AttributeName);
  const select = (/** @type {string} */ statement, /** @type {string | null} */ cursor) => run(async () => {
    const found = await act('tables/select', { statement, ...(cursor ? { cursor } : {}) });
    setAnswer({ ...found, statement });
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setAnswer(null);
    select(text, null);
  };
  const isWhole = (/** @type {any} */ item) => keys.every((/** @type {string} */ name) => item[name]);
  return html`<form class="form card" onSubmit=${submit}><label>Statement (SELECT alone)<textarea rows="3" value=${text} spellcheck=${false} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
      <footer><button class="action primary" disabled=${isBusy}>Run</button></footer></form>
    ${problem ? html`<p class="banner fail" role="alert">${problem.message}</p>` : null}
    ${answer ? html`<${Found} items=${answer.items} keys=${keys} words="No item on this page." onOpen=${setOpen} />${answer.next ? html`<div class="cat-pager"><button class="action" disabled=${isBusy} onClick=${() => select(answer.statement, answer.next)}>Next page</button></div>` : null}` : null}
    ${open ? html`<${ItemDialog} table=${table} keys=${keys} item=${open} isPart server=${isWhole(open) ? server : { ...server, mayWrite: false }} onClose=${() => setOpen(null)} />` : null}`;
}
