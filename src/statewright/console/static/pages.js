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
  waiting: { title: 'Waiting', icon: 'hourglass', group: 'main', style: 'services.css', load: () => import('./waiting_page.js') },
  functions: { title: 'Functions', icon: 'function', group: 'services', style: 'services.css', load: () => import('./functions.js') },
  queues: { title: 'Queues', icon: 'queue', group: 'services', style: 'services.css', load: () => import('./queues.js') },
  schedules: { title: 'Schedules', icon: 'schedule', group: 'services', style: 'catalogue.css', load: () => import('./schedules.js') },
  limits: { title: 'Limits', icon: 'gauge', group: 'services', style: 'services.css', load: () => import('./limits.js') },
  topics: { title: 'Topics', icon: 'topic', group: 'services', style: 'catalogue.css', load: () => import('./topics.js') },
  tables: { title: 'Tables', icon: 'table', group: 'services', style: 'catalogue.css', load: () => import('./tables.js') },
  objects: { title: 'Objects', icon: 'bucket', group: 'services', style: 'catalogue.css', load: () => import('./objects.js') },
  jobs: { title: 'Jobs', icon: 'job', group: 'services', style: 'catalogue.css', load: () => import('./jobs.js') },
  apis: { title: 'APIs', icon: 'api', group: 'services', style: 'catalogue.css', load: () => import('./apis.js') },
  stacks: { title: 'Stacks', icon: 'stack', group: 'services', style: 'catalogue.css', load: () => import('./stacks.js') },
  workbench: { title: 'Workbench', icon: 'wrench', group: 'tools', style: 'workbench.css', load: () => import('./workbench.js') },
  simulations: { title: 'Simulations', icon: 'chart', group: 'tools', style: 'simulations.css', load: () => import('./simulations.js') },
  events: { title: 'Events', icon: 'pulse', group: 'tools', style: 'catalogue.css', load: () => import('./events_page.js') },
  flow: { title: 'Flow', icon: 'flow', group: 'tools', style: 'catalogue.css', load: () => import('./flow.js') },
  import: { title: 'Import a history', icon: 'upload', group: 'tools', style: 'import.css', load: () => import('./import.js') },
  settings: { title: 'Settings', icon: 'settings', group: 'foot', style: 'forms.css', load: () => import('./settings.js') },
  heat: { title: 'Figures', of: 'machines', style: 'heat.css', load: () => import('./heat.js') },
  express: { title: 'Express executions', of: 'machines', style: 'heat.css', load: () => import('./express.js') },
  start: { title: 'Start', of: 'machines', style: 'forms.css', load: () => import('./start.js') },
  function: { title: 'Function', of: 'functions', style: 'services.css', load: () => import('./function.js') },
  queue: { title: 'Queue', of: 'queues', style: 'services.css', load: () => import('./queue.js') },
  'map-run': { title: 'Map Run', of: 'executions', style: 'services.css', load: () => import('./map_run.js') },
  execution: { title: 'Execution', of: 'executions', style: 'run.css', load: () => import('./run.js') },
  machine: { title: 'State machine', of: 'machines', style: 'workbench.css', load: () => import('./machine.js') },
  'what-if': { title: 'What if', of: 'executions', style: 'what_if.css', load: () => import('./what_if.js') },
  compare: { title: 'Compare', of: 'executions', style: 'compare.css', load: () => import('./compare.js') },
};

/** The page of the address /console itself. */
export const FIRST = 'overview';
