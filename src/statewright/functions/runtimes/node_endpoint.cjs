// Preloaded into Node workers: sets the server's endpoint in SDKs that read none from the environment.
//
// Version 2 of the SDK (`aws-sdk`) takes its endpoint from code alone, so its global configuration is set when it is
// loaded, whole or in parts (`aws-sdk/clients/s3`). Version 3 reads AWS_ENDPOINT_URL since 3.451; clients of older
// releases get the endpoint when they are made. S3 is addressed by path: buckets have no host names in this server.
"use strict";

const Module = require("node:module");
const path = require("node:path");

const endpoint = process.env.AWS_ENDPOINT_URL;
const seen = new WeakSet();

function configureV2(loaded) {
  if (loaded && loaded.config && typeof loaded.config.update === "function" && !seen.has(loaded.config)) {
    seen.add(loaded.config);
    loaded.config.update({ endpoint, s3ForcePathStyle: true, hostPrefixEnabled: false });
  }
  return loaded;
}

function configureV3(loaded) {
  // Exports of version 3 are getters on a frozen-looking object: clients are changed where they resolve their settings.
  for (const name of Object.keys(loaded)) {
    const made = name.endsWith("Client") ? loaded[name] : undefined;
    if (typeof made !== "function" || seen.has(made)) continue;
    seen.add(made);
    const settings = { endpoint, disableHostPrefix: true, ...(name === "S3Client" ? { forcePathStyle: true } : {}) };
    const changed = new Proxy(made, {
      construct(target, [given, ...rest], newTarget) {
        return Reflect.construct(target, [{ ...settings, ...given }, ...rest], newTarget);
      },
    });
    try {
      Object.defineProperty(loaded, name, { value: changed, enumerable: true, configurable: true, writable: true });
    } catch {
      // An export that cannot be replaced reads the environment.
    }
  }
  return loaded;
}

// Providers of custom resources (`cfn-response`, the CDK's own) put their answer to ResponseURL by `https`, even where it
// is an `http` address: what they send to the host of this server goes by HTTP to its port.
function leadHome(https) {
  if (seen.has(https) || !endpoint.startsWith("http://")) return https;
  seen.add(https);
  const http = require("node:http");
  const server = new URL(endpoint);
  const secure = https.request;
  https.request = function (options, ...rest) {
    const isPlain = options && typeof options === "object" && !(options instanceof URL);
    if (!isPlain || (options.hostname || options.host) !== server.hostname) {
      return secure.call(this, options, ...rest);
    }
    const { agent, ...given } = options;
    return http.request({ ...given, protocol: "http:", host: server.hostname, port: server.port }, ...rest);
  };
  return https;
}

if (endpoint) {
  const load = Module._load;
  Module._load = function (request, parent, isMain) {
    const loaded = load.call(this, request, parent, isMain);
    if (request === "https" || request === "node:https") return leadHome(loaded);
    // ES modules load packages by file.
    const inPackages = request.replaceAll("\\", "/").split("/node_modules/").pop();
    if (inPackages === "aws-sdk" || inPackages.startsWith("aws-sdk/")) {
      if (request !== "aws-sdk") {
        try {
          const core = path.isAbsolute(request)
            ? path.join(request.slice(0, -inPackages.length), "aws-sdk", "lib", "core.js")
            : Module._resolveFilename("aws-sdk/lib/core", parent);
          configureV2(load.call(this, core, parent, false));
        } catch {
          // Only the whole package is installed.
        }
      }
      return configureV2(loaded);
    }
    return inPackages.startsWith("@aws-sdk/client-") ? configureV3(loaded) : loaded;
  };
}

// ES modules and CommonJS ones look for packages beside themselves; layers and NODE_PATH serve `require` alone.
process.env.LAMBDA_RUNTIME_DIR = process.env.LAMBDA_RUNTIME_DIR || path.dirname(__filename);
