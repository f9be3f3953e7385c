// Preferences of the user: the theme, and the zone of instants. Each is a switch that any page can place.

import { html, signal } from './vendor.js';
import { chooseZone, zone, zoneName } from './format.js';
import { Icon } from './icons.js';
import { keep, kept } from './kept.js';

/** @typedef {'system' | 'light' | 'dark'} Theme */
/** @type {[Theme, string, string][]} */
export const THEMES = [['system', 'System', 'screen'], ['light', 'Light', 'sun'], ['dark', 'Dark', 'moon']];

/** @type {{value: Theme}} */
export const theme = signal(/** @type {Theme} */ ('system'));

/** @param {Theme} chosen */
export function chooseTheme(chosen) {
  theme.value = chosen;
  keep('theme', chosen === 'system' ? null : chosen);
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

const before = kept('theme');
if (before === 'light' || before === 'dark') chooseTheme(before);

/** One button that goes from theme to theme. */
export function ThemeButton() {
  const place = THEMES.findIndex(([name]) => name === theme.value);
  const [, words, icon] = THEMES[place];
  const [next] = THEMES[(place + 1) % THEMES.length];
  return html`<button onClick=${() => chooseTheme(next)} title=${`Theme: ${words}. Press to change it.`} aria-label=${`Theme: ${words}`}><${Icon} name=${icon} /><span>${words}</span></button>`;
}

/** One button that changes the zone. */
export function ZoneButton() {
  const words = zoneName();
  return html`<button onClick=${() => chooseZone(zone.value === 'UTC' ? 'local' : 'UTC')} title=${`Times are in ${words}. Press to change it.`} aria-label=${`Times in ${words}`}><${Icon} name="clock" /><span>${words}</span></button>`;
}

/** Both as a form, for the page of settings. */
export function Preferences() {
  return html`<fieldset class="form"><legend>Look</legend>
    <label>Theme <select value=${theme.value} onChange=${(/** @type {any} */ event) => chooseTheme(event.target.value)}>${THEMES.map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select></label>
    <label>Times <select value=${zone.value} onChange=${(/** @type {any} */ event) => chooseZone(event.target.value)}><option value="UTC">UTC</option><option value="local">Local</option></select></label></fieldset>`;
}
