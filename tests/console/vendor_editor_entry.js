// What the page takes of CodeMirror for its editor; vendor_editor.js is this file, bundled.
export { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
export { json } from '@codemirror/lang-json';
export { yaml } from '@codemirror/lang-yaml';
export { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
export { lintGutter, setDiagnostics } from '@codemirror/lint';
export { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
export { Compartment, EditorState } from '@codemirror/state';
export { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
export { tags } from '@lezer/highlight';
