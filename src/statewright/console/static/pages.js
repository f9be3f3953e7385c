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
  waiting: { title: 'Waiting', icon: 'hourglass', group: 'main', style: 'services.css', load: () => import('./waiting_page.js') },
  functions: { title: 'Functions', icon: 'function', group: 'services', style: 'services.css', load: () => import('./functions.js') },
  queues: { title: 'Queues', icon: 'queue', group: 'services', style: 'services.css', load: () => import('./queues.js') },
  limits: { title: 'Limits', icon: 'gauge', group: 'services', style: 'services.css', load: () => import('./limits.js') },
  function: { title: 'Function', of: 'functions', style: 'services.css', load: () => import('./function.js') },
  queue: { title: 'Queue', of: 'queues', style: 'services.css', load: () => import('./queue.js') },
  'map-run': { title: 'Map Run', of: 'executions', style: 'services.css', load: () => import('./map_run.js') },
  execution: { title: 'Execution', of: 'executions', style: 'run.css', load: () => import('./run.js') },
  machine: { title: 'State machine', of: 'machines', style: 'workbench.css', load: () => import('./machine.js') },
  workbench: { title: 'Workbench', icon: 'wrench', group: 'tools', style: 'workbench.css', load: () => import('./workbench.js') },
};

/** The page of the address /console itself. */
export const FIRST = 'executions';
