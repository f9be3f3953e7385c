// The Node.js runtime inside a worker: loads the handler, then calls it once for every invocation.
//
// Handlers may take a callback, return a promise, or be synchronous; they live in CommonJS or ES modules. Frames are
// those of `python_worker.py`, on descriptor 3.
// Source: Lambda developer guide, "Node.js handler", "Node.js context object"; error documents observed.

import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import util from "node:util";

const channel = new net.Socket({ fd: 3, readable: true, writable: true });
const root = process.env.LAMBDA_TASK_ROOT;
// Longest result that the server accepts; `limits.FUNCTION_RESPONSE_BYTES`.
const RESPONSE_BYTES = 6_291_556;
let requestId = "";
let current = null;

function send(header, body) {
  const head = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(4 + head.length + body.length, 0);
  lengths.writeUInt32BE(head.length, 4);
  channel.write(Buffer.concat([lengths, head, body]));
}

function write(text) {
  // Written immediately, so that nothing is lost when the process ends during a handler.
  let left = Buffer.from(text);
  while (left.length > 0) {
    try {
      left = left.subarray(fs.writeSync(1, left));
    } catch (problem) {
      if (problem.code !== "EAGAIN") return;
    }
  }
}

for (const [name, level] of [["log", "INFO"], ["info", "INFO"], ["debug", "DEBUG"], ["trace", "TRACE"], ["warn", "WARN"],
  ["error", "ERROR"]]) {
  console[name] = (...parts) => {
    const text = util.format(...parts).replaceAll("\n", "\r");
    write(`${new Date().toISOString()}\t${requestId || "undefined"}\t${level}\t${text}\n`);
  };
}

// The lines of a stack trace, with the folder of the code as the service names it, at every level of isolation.
function traceOf(problem) {
  return (problem.stack || "").replaceAll(root, "/var/task").split("\n");
}

function documentOf(problem) {
  if (problem instanceof Error || (problem && typeof problem === "object" && "message" in problem && "name" in problem)) {
    const trace = traceOf(problem).filter((line) => !line.includes("node_worker.mjs"));
    return { errorType: problem.name, errorMessage: problem.message, trace };
  }
  const text = typeof problem === "object" && problem !== null ? JSON.stringify(problem) : String(problem);
  return { errorType: typeof problem, errorMessage: text, trace: [] };
}

function fail(document) {
  console.error("Invoke Error", JSON.stringify(document));
  finish({ t: "error" }, document);
}

function finish(header, value) {
  if (current === null) return;
  const invocation = current;
  current = null;
  if (time) time.isRunning = false;
  invocation.ended = true;
  let body;
  try {
    const text = JSON.stringify(value === undefined ? null : value);
    body = Buffer.from(text === undefined ? "null" : text);
  } catch (problem) {
    const document = {
      errorType: "Runtime.MarshalError", errorMessage: `Unable to stringify response body: ${problem.message}`, trace: [],
    };
    header = { t: "error" };
    body = Buffer.from(JSON.stringify(document));
  }
  if (body.length > RESPONSE_BYTES) [header, body] = [{ t: "too_long" }, Buffer.alloc(0)];
  send({ ...header, id: invocation.id, peak_kib: process.resourceUsage().maxRSS }, body);
}

// Where packages are found: `node_packages.cjs` has been loaded before.
const packages = globalThis[Symbol.for("statewright.packages")];

class CannotLoad extends Error {
  constructor(kind, message, trace) {
    super(message);
    this.document = { errorType: kind, errorMessage: message, trace };
  }
}

async function load(text) {
  const slash = text.lastIndexOf("/") + 1;
  const dot = text.indexOf(".", slash);
  if (dot < 0) throw new CannotLoad("Runtime.MalformedHandlerName", "Bad handler", []);
  const [file, names] = [text.slice(0, dot), text.slice(dot + 1).split(".")];
  const base = path.resolve(root, file);
  let loaded;
  try {
    const found = ["", ".js", ".mjs", ".cjs"].map((ending) => base + ending)
      .find((candidate) => fs.existsSync(candidate) && fs.statSync(candidate).isFile());
    if (found === undefined) {
      throw new CannotLoad("Runtime.ImportModuleError", `Error: Cannot find module '${path.basename(file)}'\nRequire stack:\n- ${root}`, []);
    }
    // Hooks for imports do not reach ES modules that are loaded by `require`.
    const imports = packages.serveImports(found);
    try {
      loaded = imports || found.endsWith(".mjs") ? await import(pathToFileURL(found)) : createRequire(pathToFileURL(found))(found);
    } catch (problem) {
      if (problem.code !== "ERR_REQUIRE_ESM") throw problem;
      loaded = await import(pathToFileURL(found));
    }
  } catch (problem) {
    if (problem instanceof CannotLoad) throw problem;
    packages.explain(problem);
    const trace = traceOf(problem);
    if (problem instanceof SyntaxError) throw new CannotLoad("Runtime.UserCodeSyntaxError", String(problem), trace);
    if (problem.code === "MODULE_NOT_FOUND" || problem.code === "ERR_MODULE_NOT_FOUND") {
      throw new CannotLoad("Runtime.ImportModuleError", String(problem), trace);
    }
    throw new CannotLoad(problem.name || "Error", problem.message || String(problem), trace);
  }
  const at = (from) => names.reduce((value, name) => (value === undefined || value === null ? undefined : value[name]), from);
  const handler = at(loaded) ?? at(loaded.default);
  if (typeof handler !== "function") {
    throw new CannotLoad("Runtime.HandlerNotFound", `${text} is undefined or not exported`, []);
  }
  return handler;
}

function contextOf(header) {
  const deadline = Date.now() + header.timeout_ms;
  const context = {
    callbackWaitsForEmptyEventLoop: true,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    invokedFunctionArn: header.arn,
    awsRequestId: header.id,
    clientContext: header.client_context,
    identity: undefined,
    getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
  };
  context.done = (problem, result) => (problem ? fail(documentOf(problem)) : finish({ t: "result" }, result));
  context.succeed = (result) => context.done(null, result);
  context.fail = (problem) => context.done(problem ?? "handled");
  return context;
}

function call(handler, header, body) {
  requestId = header.id;
  process.env._X_AMZN_TRACE_ID = header.trace;
  const invocation = { id: header.id, ended: false };
  current = invocation;
  const mine = (then) => (value) => { if (!invocation.ended && current === invocation) then(value); };
  const succeed = mine((result) => finish({ t: "result" }, result));
  const failed = mine((problem) => fail(documentOf(problem)));
  let event;
  try {
    event = JSON.parse(body.toString());
  } catch (problem) {
    failed(problem);
    return;
  }
  try {
    const callback = (problem, result) => (problem ? failed(problem) : succeed(result));
    const answer = handler(event, contextOf(header), callback);
    if (answer && typeof answer.then === "function") {
      answer.then(succeed, failed);
    } else if (handler.length < 3) {
      // A handler that takes no callback and returns no promise waits only for its own timers.
      waitForQuiet(invocation, succeed, answer);
    }
  } catch (problem) {
    failed(problem);
  }
}

function waitForQuiet(invocation, succeed, answer) {
  setImmediate(() => { if (!invocation.ended) succeed(answer ?? null); });
}

process.on("uncaughtException", (problem) => die(problem, "uncaughtException"));
process.on("unhandledRejection", (problem) => die(problem, "Runtime.UnhandledPromiseRejection"));

function die(problem, kind) {
  const document = documentOf(problem);
  if (kind !== "uncaughtException") document.errorType = kind;
  if (current === null) {
    console.error("Uncaught Exception", JSON.stringify(document));
    process.exit(1);
  }
  fail(document);
}

// Virtual time, if the server runs in it: `node_time.cjs` has been loaded before.
const time = globalThis[Symbol.for("statewright.time")];
if (time) time.send = send;

let incoming = Buffer.alloc(0);
let handler = null;

channel.on("data", (data) => {
  incoming = incoming.length === 0 ? data : Buffer.concat([incoming, data]);
  while (incoming.length >= 8) {
    const total = incoming.readUInt32BE(0);
    if (incoming.length < 4 + total) return;
    const head = incoming.readUInt32BE(4);
    const header = JSON.parse(incoming.subarray(8, 8 + head).toString());
    const body = incoming.subarray(8 + head, 4 + total);
    incoming = incoming.subarray(4 + total);
    if (time && header.now_ms) {
      time.isRunning ||= header.t === "invoke";
      time.reach(header.now_ms);
    }
    if (header.t === "invoke") call(handler, header, body);
  }
});
channel.on("end", () => process.exit(0));
channel.on("error", () => process.exit(0));

try {
  handler = await load(process.env._HANDLER);
  send({ t: "ready" }, Buffer.alloc(0));
} catch (problem) {
  const document = problem.document ?? documentOf(problem);
  console.error("Uncaught Exception", JSON.stringify(document));
  send({ t: "failed" }, Buffer.from(JSON.stringify(document)));
}
