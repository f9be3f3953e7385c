// Hooks for `import`, in a thread of their own, for versions of Node.js without synchronous hooks: the last resort of
// `node_packages.cjs` in its asynchronous form.

import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { isPackage } = createRequire(import.meta.url)("./node_packages.cjs");
let settings = { places: [] };

export function initialize(given) {
  settings = given;
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (problem) {
    if (problem.code !== "ERR_MODULE_NOT_FOUND" || !isPackage(specifier)) throw problem;
    for (const place of settings.places) {
      try {
        return await next(specifier, { ...context, parentURL: pathToFileURL(path.join(place, "index.mjs")).href });
      } catch {
        // The first error names the module that asked.
      }
    }
    throw problem;
  }
}
