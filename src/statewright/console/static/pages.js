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
  execution: { title: 'Execution', of: 'executions', style: 'run.css', load: () => import('./run.js') },
  schedules: { title: 'Schedules', icon: 'schedule', group: 'services', style: 'catalogue.css', load: () => import('./schedules.js') },
  topics: { title: 'Topics', icon: 'topic', group: 'services', style: 'catalogue.css', load: () => import('./topics.js') },
  tables: { title: 'Tables', icon: 'table', group: 'services', style: 'catalogue.css', load: () => import('./tables.js') },
  objects: { title: 'Objects', icon: 'bucket', group: 'services', style: 'catalogue.css', load: () => import('./objects.js') },
  jobs: { title: 'Jobs', icon: 'job', group: 'services', style: 'catalogue.css', load: () => import('./jobs.js') },
  apis: { title: 'APIs', icon: 'api', group: 'services', style: 'catalogue.css', load: () => import('./apis.js') },
  stacks: { title: 'Stacks', icon: 'stack', group: 'services', style: 'catalogue.css', load: () => import('./stacks.js') },
  events: { title: 'Events', icon: 'pulse', group: 'tools', style: 'catalogue.css', load: () => import('./events_page.js') },
  flow: { title: 'Flow', icon: 'flow', group: 'tools', style: 'catalogue.css', load: () => import('./flow.js') },
};

/** The page of the address /console itself. */
export const FIRST = 'executions';
