// All pages: their names in the address and in the rail, and the modules that draw them, loaded when they are opened.

/**
 * @typedef {{title: string, icon?: string, of?: string, group?: 'main' | 'services' | 'tools' | 'foot', style?: string,
 *   load: () => Promise<{Page: (props: {route: import('./route.js').Route, server: any}) => any}>}} PageEntry
 *   `of` is the page whose item in the rail is marked, `style` a style sheet of its own. Without a group it has no item.
 */

/** @type {Record<string, PageEntry>} */
export const PAGES = {
  executions: { title: 'Executions', icon: 'list', group: 'main', load: () => import('./executions.js') },
  machines: { title: 'State machines', icon: 'machine', group: 'main', load: () => import('./machines.js') },
  heat: { title: 'Figures', of: 'machines', style: 'heat.css', load: () => import('./heat.js') },
  express: { title: 'Express executions', of: 'machines', style: 'heat.css', load: () => import('./express.js') },
  simulations: { title: 'Simulations', icon: 'chart', group: 'tools', style: 'simulations.css', load: () => import('./simulations.js') },
  import: { title: 'Import a history', icon: 'upload', group: 'tools', style: 'import.css', load: () => import('./import.js') },
  execution: { title: 'Execution', of: 'executions', style: 'run.css', load: () => import('./run.js') },
  'what-if': { title: 'What if', of: 'executions', style: 'what_if.css', load: () => import('./what_if.js') },
  compare: { title: 'Compare', of: 'executions', style: 'compare.css', load: () => import('./compare.js') },
};

/** The page of the address /console itself. */
export const FIRST = 'executions';
