// Types of what the page uses of Preact, htm and signals (vendor.js).
export function html(strings: TemplateStringsArray, ...values: unknown[]): unknown;
export function render(tree: unknown, root: Element): void;
export function useState<T>(first: T): [T, (next: any) => void];
export function useEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useMemo<T>(make: () => T, inputs: unknown[]): T;
export function useRef<T>(first: T): { current: T };
export function signal<T>(first: T): { value: T };
export function effect(run: () => void): () => void;
