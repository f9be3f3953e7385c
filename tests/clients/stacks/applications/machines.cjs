// The definitions of the order API's machines, with values in the place of ${Name}: texts within texts, others alone.

const { readFileSync } = require("fs");
const { load } = require("js-yaml");

function filled(part, values) {
  if (typeof part === "string") {
    const alone = /^\$\{(\w+)\}$/.exec(part);
    return alone ? values[alone[1]] : part.replace(/\$\{(\w+)\}/g, (_, name) => values[name]);
  }
  if (Array.isArray(part)) return part.map((one) => filled(one, values));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, filled(one, values)]));
}

exports.definition = (name, values) => filled(load(readFileSync(`machines/${name}.asl.yaml`, "utf8")), values);
exports.placeOrder = () =>
  exports.definition("place-order", {
    Price: { "Fn::GetAtt": ["price", "Arn"] },
    Orders: { Ref: "Orders" },
    Warehouse: { Ref: "Warehouse" },
    Approval: { Ref: "ApprovalStepFunctionsStateMachine" },
    ApproveFrom: "500",
  });
exports.approval = () =>
  exports.definition("approval", {
    Ask: { "Fn::GetAtt": ["ask", "Arn"] },
    Orders: { Ref: "Orders" },
    Warehouse: { Ref: "Warehouse" },
  });
