// A part of a page whose module is loaded when it is first shown.

import { html, useEffect, useState } from './vendor.js';

/** @param {{load: () => Promise<any>, quiet?: boolean} & Record<string, unknown>} props  `load` gives the component, which gets the others; with `quiet` nothing is shown meanwhile */
export function Later({ load, quiet = false, ...props }) {
  const [found, setFound] = useState(/** @type {{Part: any} | null} */ (null));
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    load().then((Part) => isCurrent && setFound({ Part }), () => isCurrent && setMissing(true));
    return () => {
      isCurrent = false;
    };
  }, [load]);
  if (isMissing) return html`<p class="fail pad" role="alert">A part of the page could not be loaded.</p>`;
  return found ? html`<${found.Part} ...${props} />` : quiet ? null : html`<p class="faint pad">Reading…</p>`;
}
