// A button that unfolds others below it; what they are is loaded when it is first opened.

import { html, useEffect, useRef, useState } from './vendor.js';
import { Icon } from './icons.js';
import { Later } from './later.js';

/** @param {{words: string, load: () => Promise<any>, dataKey?: string} & Record<string, any>} props  `load` gives the component with the buttons, which gets the others */
export function Menu({ words, load, dataKey, ...props }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (!isOpen) return undefined;
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
      setOpen(false);
      box.current.querySelector('button')?.focus();
    };
    const point = (/** @type {Event} */ event) => {
      if (!box.current.contains(event.target)) setOpen(false);
    };
    addEventListener('keydown', press);
    addEventListener('pointerdown', point);
    return () => {
      removeEventListener('keydown', press);
      removeEventListener('pointerdown', point);
    };
  }, [isOpen]);
  return html`<span class="menu" ref=${box}><button class="action" aria-expanded=${isOpen} data-key=${dataKey} onClick=${() => setOpen(!isOpen)}>${words}<${Icon} name="down" size=${12} /></button>
    ${isOpen ? html`<div class="menu-items card" role="group" aria-label=${words}><${Later} load=${load} ...${props} /></div>` : null}</span>`;
}
