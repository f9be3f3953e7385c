// Where an ARN leads in the console. Pure, but for the table of pages.

import { PAGES } from './pages.js';
import { format } from './route.js';

/** @param {string} text @returns {{address: string, words: string, icon: string} | null}  null for what is no ARN that a page shows */
export function arnTarget(text) {
  if (/\s/.test(text)) return null;
  const [start, , service, , , kind, ...rest] = text.split(':');
  if (start !== 'arn' || service !== 'states' || !rest.length || !rest[0]) return null;
  if (kind === 'execution') return { address: format('execution', text), words: 'Open this execution', icon: 'list' };
  if (kind === 'stateMachine') return { address: machineAddress(text), words: Object.hasOwn(PAGES, 'machine') ? 'Open this state machine' : 'Executions of this state machine', icon: 'machine' };
  return null;
}

/** The page of a state machine, or its executions where there is none. @param {string} arn */
export function machineAddress(arn) {
  return Object.hasOwn(PAGES, 'machine') ? format('machine', arn) : format('executions', '', { machine: arn });
}
