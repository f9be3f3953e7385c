// All pages: their names in the address and in the rail, and the modules that draw them, loaded when they are opened.

/**
 * @typedef {{title: string, icon?: string, of?: string, group?: 'main' | 'services' | 'tools' | 'foot', style?: string,
 *   load: () => Promise<{Page: (props: {route: import('./route.js').Route, server: any}) => any}>}} PageEntry
 *   `of` is the page whose item in the rail is marked, `style` a style sheet of its own. Without a group it has no item.
 */

/** @type {Record<string, PageEntry>} */
export const PAGES = {
  overview: { title: 'Overview', icon: 'grid', group: 'main', style: 'lists.css', load: () => import('./overview.js') },
  machines: { title: 'State machines', icon: 'machine', group: 'main', style: 'lists.css', load: () => import('./machines.js') },
  executions: { title: 'Executions', icon: 'list', group: 'main', style: 'lists.css', load: () => import('./executions.js') },
  execution: { title: 'Execution', of: 'executions', style: 'run.css', load: () => import('./run.js') },
};

/** The page of the address /console itself. */
export const FIRST = 'overview';
