// A text editor for JSON and YAML: CodeMirror, loaded when the first one opens, or a plain text field if it does not load.
// It lives in a shadow root, where its style sheets are adopted: the page's policy allows no style element.

import { html, useEffect, useRef, useState } from './vendor.js';

/**
 * @typedef {{line: number, column: number, severity: string, code?: string, message: string}} TextProblem  counted from 1
 * @typedef {{line: number, column: number, turn: number, quiet?: boolean}} Place  `turn` grows when the same place is wanted
 *   again; a quiet one takes no focus
 */

/** @type {Promise<typeof import('./vendor_editor.js')> | null} */
let library = null;

/**
 * @param {{value: string, label: string, language?: 'json' | 'yaml', onChange?: (text: string) => void,
 *   problems?: TextProblem[], readOnly?: boolean, place?: Place | null}} props
 */
export function Editor(props) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [isPlain, setPlain] = useState(false);
  useEffect(() => {
    library ??= import('./vendor_editor.js');
    library.then(setFound, () => {
      library = null;
      setPlain(true);
    });
  }, []);
  if (isPlain) return html`<${Plain} ...${props} />`;
  return found ? html`<${Rich} ...${props} cm=${found} />` : html`<p class="faint pad">Loading the editor…</p>`;
}

/** @param {any} props */
function Plain({ value, label, onChange, problems = [], readOnly = false, place = null }) {
  const field = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (!place) return;
    const start = offsetOf(value, place.line, place.column);
    if (!place.quiet) field.current.focus();
    field.current.setSelectionRange(start, start);
  }, [place]);
  return html`<textarea class="plaintext" ref=${field} aria-label=${label} aria-invalid=${problems.length > 0} spellcheck="false" readonly=${readOnly}
    value=${value} onInput=${(/** @type {any} */ event) => onChange?.(event.target.value)}></textarea>`;
}

/** The place of a line and a column in a text. @param {string} text @param {number} line @param {number} column */
export function offsetOf(text, line, column) {
  let start = 0;
  for (let count = 1; count < line; count += 1) {
    const end = text.indexOf('\n', start);
    if (end < 0) break;
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  return Math.min(start + Math.max(0, column - 1), end < 0 ? text.length : end);
}

/** @param {any} props */
function Rich({ cm, value, label, language = 'json', onChange, problems = [], readOnly = false, place = null }) {
  const host = useRef(/** @type {any} */ (null));
  const held = useRef(/** @type {any} */ ({}));
  held.current.onChange = onChange;
  useEffect(() => {
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const parts = { language: new cm.Compartment(), readOnly: new cm.Compartment() };
    const listen = cm.EditorView.updateListener.of((/** @type {any} */ update) => {
      if (!update.docChanged) return;
      held.current.text = update.state.doc.toString();
      held.current.onChange?.(held.current.text);
    });
    const extensions = [...common(cm), cm.EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }), listen,
      parts.language.of(language === 'yaml' ? cm.yaml() : cm.json()), parts.readOnly.of(cm.EditorState.readOnly.of(readOnly))];
    const view = new cm.EditorView({ parent: root, root, state: cm.EditorState.create({ doc: value, extensions }) });
    Object.assign(held.current, { view, parts, text: value });
    return () => view.destroy();
  }, []);
  useEffect(() => {
    const { view, text } = held.current;
    if (value === text) return;
    held.current.text = value;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const { view, parts } = held.current;
    view.dispatch({ effects: [parts.language.reconfigure(language === 'yaml' ? cm.yaml() : cm.json()),
      parts.readOnly.reconfigure(cm.EditorState.readOnly.of(readOnly))] });
  }, [language, readOnly]);
  useEffect(() => {
    const { view } = held.current;
    const { doc } = view.state;
    const shown = problems.filter((/** @type {TextProblem} */ one) => one.line >= 1 && one.line <= doc.lines).map((/** @type {TextProblem} */ one) => {
      const line = doc.line(one.line);
      const from = Math.min(line.from + Math.max(0, one.column - 1), line.to);
      return { from, to: line.to, severity: one.severity === 'ERROR' ? 'error' : 'warning', message: one.code ? `${one.message} (${one.code})` : one.message };
    });
    view.dispatch(cm.setDiagnostics(view.state, shown));
  }, [problems]);
  useEffect(() => {
    if (!place) return;
    const { view } = held.current;
    const line = view.state.doc.line(Math.min(Math.max(1, place.line), view.state.doc.lines));
    const anchor = Math.min(line.from + Math.max(0, place.column - 1), line.to);
    view.dispatch({ selection: { anchor }, effects: cm.EditorView.scrollIntoView(anchor, { y: 'center' }) });
    if (!place.quiet) view.focus();
  }, [place]);
  return html`<div class="editor" ref=${host}></div>`;
}

/** What every editor has. @param {any} cm */
function common(cm) {
  const { tags: tag } = cm;
  const colours = cm.HighlightStyle.define([
    { tag: [tag.propertyName, tag.definition(tag.propertyName)], color: 'var(--text)', fontWeight: '600' },
    { tag: [tag.string, tag.special(tag.string), tag.content], color: 'var(--json-text)' },
    { tag: [tag.number, tag.bool, tag.null, tag.keyword, tag.atom], color: 'var(--json-number)' },
    { tag: tag.comment, color: 'var(--faint)', fontStyle: 'italic' },
    { tag: [tag.punctuation, tag.separator, tag.brace, tag.squareBracket], color: 'var(--muted)' },
    { tag: tag.invalid, color: 'var(--fail)' },
  ]);
  return [
    cm.lineNumbers(), cm.highlightActiveLineGutter(), cm.foldGutter(), cm.lintGutter(), cm.history(), cm.drawSelection(),
    cm.indentOnInput(), cm.bracketMatching(), cm.highlightActiveLine(), cm.highlightSelectionMatches(), cm.search({ top: true }),
    cm.EditorView.domEventHandlers({ beforeinput: typed }), cm.EditorState.tabSize.of(2), cm.EditorView.lineWrapping, cm.syntaxHighlighting(colours), cm.EditorView.theme(THEME),
    cm.keymap.of([...cm.defaultKeymap, ...cm.searchKeymap, ...cm.historyKeymap, ...cm.foldKeymap, cm.indentWithTab]),
  ];
}

/**
 * Types a text by a change of the state: browsers that edit the page themselves keep the look of what was replaced in style
 * attributes, which the page's policy refuses and reports.
 * @param {InputEvent} event @param {any} view
 */
function typed(event, view) {
  if (event.inputType !== 'insertText' || event.data === null || event.isComposing || view.composing || view.state.readOnly) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

const FIELD = { color: 'var(--text)', backgroundColor: 'var(--card)', border: '1px solid var(--line2)', borderRadius: '6px', backgroundImage: 'none' };
const THEME = {
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--card)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace', lineHeight: '18px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--faint)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--sunk) 70%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-fill)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--accent-fill)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-fill)', outline: '1px solid var(--accent)' },
  '.cm-panels': { backgroundColor: 'var(--sunk)', color: 'var(--text)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panel .cm-textfield': FIELD,
  '.cm-panel .cm-button': FIELD,
  '.cm-panel.cm-search [name=close]': { color: 'var(--muted)' },
  '.cm-searchMatch': { backgroundColor: 'var(--wait-fill)' },
  '.cm-tooltip': { backgroundColor: 'var(--card)', color: 'var(--text)', border: '1px solid var(--line2)', borderRadius: '8px' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunk)', color: 'var(--muted)', border: '1px solid var(--line2)' },
};
