// What the page takes of Preact, htm and signals; vendor.js is this file, bundled.
import { h } from 'preact';
import htm from 'htm';

export { render } from 'preact';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
export { effect, signal } from '@preact/signals';
export const html = htm.bind(h);
