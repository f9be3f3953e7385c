// Preloaded into Node workers: packages that a function does not bring are looked up in the folder of the SDK, which
// the runtimes of the cloud include. Last resort for `require` and `import`: a function's own packages and its layers win.
//
// `require` looks in NODE_PATH, where layers are, by itself. `import` does not; the cloud's runtimes since nodejs18 make it
// do so. Hooks for `import` cost some 60 ms where they need a thread of their own, so they are only set for handlers that
// import (`serveImports`).
// Source: Lambda developer guide, "Runtime-included SDK versions"; AWS Compute Blog, "Node.js 18.x runtime now available".
"use strict";

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const home = process.env.STATEWRIGHT_NODE_SDK || "";
const command = process.env.STATEWRIGHT_NODE_SDK_COMMAND || "";
delete process.env.STATEWRIGHT_NODE_SDK;
delete process.env.STATEWRIGHT_NODE_SDK_COMMAND;
const runtime = (process.env.AWS_EXECUTION_ENV || "").replace("AWS_Lambda_", "");
const settings = {
  // Folders whose `node_modules` come after the function's own.
  places: [...(process.env.NODE_PATH || "").split(":"), home && path.join(home, "node_modules")]
    .filter((place) => path.basename(place) === "node_modules").map((place) => path.dirname(place)),
};

function isPackage(request) {
  return /^(@[^/]+\/)?[^./@][^/:]*(\/|$)/.test(request);
}

// What to do about a package of the SDK that the cloud's runtime has; empty for all others.
function advice(request) {
  const name = request.split("/").slice(0, request.startsWith("@") ? 2 : 1).join("/");
  const isPlain = command.startsWith("npm ");
  const isOfSdk = name === "aws-sdk" ? isPlain || home.endsWith("v2") : name.startsWith("@aws-sdk/") && !home.endsWith("v2");
  if (!command || !isOfSdk) return "";
  const about = `The cloud's ${runtime} brings this package`;
  if (isPlain) return `${about}; to add it here: ${command} ${name}`;
  const sdk = path.join(home, "node_modules", name === "aws-sdk" ? name : "@aws-sdk");
  return fs.existsSync(sdk) ? `${about}; to add it to the SDK here: ${command} --package ${name}` : `${about}; to fetch it: ${command}`;
}

function advised(problem, request) {
  const words = advice(request);
  if (words && !problem.message.includes(words)) {
    const lines = problem.message.split("\n");
    problem.message = [`${lines[0]}. ${words}`, ...lines.slice(1)].join("\n");
  }
  return problem;
}

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, isMain, options) {
  try {
    return resolveFilename.call(this, request, parent, isMain, options);
  } catch (problem) {
    if (problem.code !== "MODULE_NOT_FOUND" || !isPackage(request) || options?.paths) throw problem;
    if (home) {
      try {
        return resolveFilename.call(this, request, parent, isMain, { paths: [home] });
      } catch {
        // The first error names the module that asked.
      }
    }
    throw advised(problem, request);
  }
};

// Set the hooks for `import`, unless the handler's file cannot import; returns whether they are set.
function serveImports(file) {
  settings.places = settings.places.filter((place) => fs.existsSync(path.join(place, "node_modules")));
  if (settings.places.length === 0) return false;
  // A handler in CommonJS may import, too.
  if (!file.endsWith(".mjs") && !/\bimport\b/.test(fs.readFileSync(file, "utf8"))) return false;
  if (typeof Module.registerHooks === "function") {
    Module.registerHooks({ resolve: resolveImport });
  } else if (typeof Module.register === "function") {
    Module.register(pathToFileURL(path.join(__dirname, "node_imports.mjs")), { data: settings });
  } else {
    return false;
  }
  return true;
}

function resolveImport(specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (problem) {
    if (problem.code !== "ERR_MODULE_NOT_FOUND" || !isPackage(specifier)) throw problem;
    for (const place of settings.places) {
      try {
        return next(specifier, { ...context, parentURL: pathToFileURL(path.join(place, "index.mjs")).href });
      } catch {
        // The first error names the module that asked.
      }
    }
    throw problem;
  }
}

// What to do about a package that a module could not import, added to the error; `problem` has any code.
function explain(problem) {
  const asked = problem.code === "ERR_MODULE_NOT_FOUND" && /^Cannot find package '([^']+)'/.exec(problem.message);
  return asked ? advised(problem, asked[1]) : problem;
}

globalThis[Symbol.for("statewright.packages")] = { serveImports, explain };
module.exports = { isPackage };
