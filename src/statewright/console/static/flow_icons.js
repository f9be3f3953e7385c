// Icons of the kinds of resources on the flow map, strokes in a box of 16 by 16.

/** @type {Record<string, string>} */
export const ICONS = {
  schedule: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 5v3l2 2',
  rule: 'M2.5 3.5h11L9.5 8.5v4l-3 1v-5z',
  bus: 'M1.5 8h3l2-5 3 10 2-5h3',
  machine: 'M8 1.8v2.4M8 11.8v2.4M1.8 8h2.4M11.8 8h2.4M8 4.2a3.8 3.8 0 1 1 0 7.6a3.8 3.8 0 0 1 0-7.6',
  function: 'M4 13h1l3.5-9.5M8.5 3.5l3 9.5H13M6 3.5h2.5',
  queue: 'M2 5h12v6H2zM6 5v6M10 5v6',
  topic: 'M3 6.5h2.5L10 3v10L5.5 9.5H3zM12.2 6a3 3 0 0 1 0 4',
  table: 'M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 6.3V13',
};
