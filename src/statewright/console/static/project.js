// The banner of every page while `statewright dev` finds files that it cannot use.

import { html, useState } from './vendor.js';
import { Icon } from './icons.js';
import { useLive } from './live.js';
import { plural } from './format.js';

const MOST_SHOWN = 3;

/** @typedef {{file: string, line: number | null, message: string, stays: boolean}} FileProblem */

export function ProjectBanner() {
  const [problems, setProblems] = useState(/** @type {FileProblem[]} */ ([]));
  useLive('project', (line) => (line.problems ? setProblems(line.problems) : undefined));
  if (!problems.length) return null;
  const more = problems.length - MOST_SHOWN;
  const stays = problems.some((/** @type {FileProblem} */ one) => one.stays);
  return html`<div class="banner fail project" role="alert"><${Icon} name="cross" /><div>
    ${problems.slice(0, MOST_SHOWN).map((one) => html`<p key=${`${one.file} ${one.line} ${one.message}`}><code><bdi>${one.file}</bdi>${one.line ? `:${one.line}` : ''}</code> <bdi>${one.message}</bdi></p>`)}
    ${more > 0 || stays ? html`<p class="faint">${more > 0 ? `And ${plural(more, 'problem')} more, in the output of statewright dev. ` : ''}${stays ? 'The last good version stays in use.' : ''}</p>` : null}</div></div>`;
}
