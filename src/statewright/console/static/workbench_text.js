// Texts of the Workbench: examples, indented JSON, first mocks, and the draft that survives a reload. Pure but for the draft.

/** @typedef {'json' | 'yaml'} Language */
/**
 * @typedef {{text: string, language: Language, input: string, mocks: string, source: Source | null, saved: string}} Draft
 *   `saved` is the text as the server or an example has it.
 * @typedef {{arn: string, name: string, roleArn: string, revisionId: string, type: string}} Source
 */

const KEY = 'statewright.workbench';

/** @type {Record<string, {title: string, text: string, input: string, mocks: string}>} */
export const EXAMPLES = {
  order: {
    title: 'An order: retries, a choice, an answer by token',
    text: `{
  "Comment": "Price an order, ask for approval of large ones",
  "QueryLanguage": "JSONata",
  "StartAt": "Price order",
  "States": {
    "Price order": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Arguments": {"FunctionName": "pricing", "Payload": "{% $states.input %}"},
      "Output": "{% $merge([$states.input, $states.result.Payload]) %}",
      "Retry": [{"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 2, "MaxAttempts": 3}],
      "Next": "Large order?"
    },
    "Large order?": {
      "Type": "Choice",
      "Choices": [{"Condition": "{% $states.input.total > 500 %}", "Next": "Ask for approval"}],
      "Default": "Done"
    },
    "Ask for approval": {
      "Type": "Task",
      "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
      "Arguments": {"QueueUrl": "approvals", "MessageBody": {"token": "{% $states.context.Task.Token %}"}},
      "TimeoutSeconds": 86400,
      "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Not approved"}],
      "Next": "Done"
    },
    "Not approved": {"Type": "Fail", "Error": "NotApproved", "Cause": "There was no answer within a day."},
    "Done": {"Type": "Succeed"}
  }
}
`,
    input: '{"order": "o-7"}',
    mocks: `mocks:
  Price order:
    - {throws: PriceListBusy, delay: 200ms}
    - {returns_payload: {total: 620}, delay: 350ms}
  Ask for approval:
    returns: {approved: true}
    delay: 3h
`,
  },
  each: {
    title: 'A Map over items, in YAML',
    text: `Comment: Double each number
QueryLanguage: JSONata
StartAt: Each
States:
  Each:
    Type: Map
    Items: "{% $states.input.numbers %}"
    MaxConcurrency: 2
    ItemProcessor:
      StartAt: Double
      States:
        Double:
          Type: Pass
          Output: "{% $states.input * 2 %}"
          End: true
    Next: Pause
  Pause:
    Type: Wait
    Seconds: 60
    End: true
`,
    input: '{"numbers": [1, 2, 3]}',
    mocks: '',
  },
};

/** The draft of an example. @param {string} name @returns {Draft} */
export function exampleDraft(name) {
  const { text, input, mocks } = EXAMPLES[name];
  return { text, language: languageOf(text), input, mocks, source: null, saved: text };
}

/** The language that a text looks like. @param {string} text @returns {Language} */
export function languageOf(text) {
  return /^\s*[{[]/.test(text) || !text.trim() ? 'json' : 'yaml';
}

/** Whether a draft has changes that the server does not. @param {Draft} draft */
export function isChanged(draft) {
  return draft.text !== draft.saved;
}

/** JSON indented by two, its names, numbers and texts as they are; null for what is no sequence of JSON tokens. @param {string} text */
export function indented(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  if (!tokens || tokens.join('').length !== text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part[0] === '"' ? part : '')).length) return null;
  const isValue = (/** @type {string | undefined} */ token) => token !== undefined && !/^[{}[\],:]$/.test(token);
  if (tokens.some((token, place) => isValue(token) && isValue(tokens[place - 1]))) return null;
  let depth = 0;
  let out = '';
  const line = () => `\n${'  '.repeat(Math.max(0, depth))}`;
  tokens.forEach((token, place) => {
    const before = tokens[place - 1];
    if (token === '{' || token === '[') {
      depth += 1;
      out += token;
      if (tokens[place + 1] !== (token === '{' ? '}' : ']')) out += line();
    } else if (token === '}' || token === ']') {
      depth -= 1;
      out += before === (token === '}' ? '{' : '[') ? token : line() + token;
    } else if (token === ',') {
      out += token + line();
    } else {
      out += token === ':' ? ': ' : token;
    }
  });
  return `${out}\n`;
}

/** A mock file with an answer for each task, to be filled in. @param {{name: string, resource: string}[]} tasks */
export function firstMocks(tasks) {
  if (!tasks.length) return '';
  const lines = tasks.map(({ name, resource }) => {
    const isFunction = /:lambda:invoke|:function:/.test(resource);
    const key = /^(resource|state):/.test(name) ? `state:${name}` : name;
    return `  ${JSON.stringify(key)}: {${isFunction ? 'returns_payload' : 'returns'}: {}}`;
  });
  return `mocks:\n${lines.join('\n')}\n`;
}

/** The draft of this tab; a reload keeps it. @returns {Draft | null} */
export function keptDraft() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
    return found && typeof found.text === 'string' && typeof found.saved === 'string' ? found : null;
  } catch {
    return null;
  }
}

/** @param {Draft} draft @returns {boolean} whether it could be kept */
export function keepDraft(draft) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
