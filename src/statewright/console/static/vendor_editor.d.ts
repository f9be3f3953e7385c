// Types of what the page uses of CodeMirror (vendor_editor.js).
type Extension = unknown;
export interface View {
  state: { doc: { toString(): string; length: number; lines: number; line(number: number): { from: number; to: number } } };
  dispatch(...changes: any[]): void;
  focus(): void;
  destroy(): void;
}
export const EditorView: {
  new (options: { parent: Element | ShadowRoot; root: ShadowRoot; state: unknown }): View;
  domEventHandlers(handlers: Record<string, (event: any, view: any) => boolean>): Extension;
  theme(rules: Record<string, Record<string, string>>): Extension;
  updateListener: { of(listen: (update: any) => void): Extension };
  contentAttributes: { of(names: Record<string, string>): Extension };
  lineWrapping: Extension;
  scrollIntoView(place: number, options?: { y: string }): unknown;
};
export const EditorState: {
  create(options: { doc: string; extensions: Extension[] }): unknown;
  readOnly: { of(value: boolean): Extension };
  tabSize: { of(size: number): Extension };
};
export class Compartment {
  of(extension: Extension): Extension;
  reconfigure(extension: Extension): unknown;
}
export class HighlightStyle {
  static define(rules: { tag: unknown; color?: string; fontWeight?: string; fontStyle?: string }[]): HighlightStyle;
}
export const tags: Record<string, any>;
export const keymap: { of(bindings: unknown[]): Extension };
export const defaultKeymap: unknown[], foldKeymap: unknown[], historyKeymap: unknown[], searchKeymap: unknown[];
export const indentWithTab: unknown;
export function bracketMatching(): Extension;
export function drawSelection(): Extension;
export function foldGutter(): Extension;
export function highlightActiveLine(): Extension;
export function highlightActiveLineGutter(): Extension;
export function highlightSelectionMatches(): Extension;
export function history(): Extension;
export function indentOnInput(): Extension;
export function json(): Extension;
export function lineNumbers(): Extension;
export function lintGutter(): Extension;
export function search(options: { top: boolean }): Extension;
export function setDiagnostics(state: unknown, found: { from: number; to: number; severity: string; message: string }[]): any;
export function syntaxHighlighting(style: HighlightStyle): Extension;
export function yaml(): Extension;
