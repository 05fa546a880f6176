// Sending: the SDK, repeated reads, and options of calls.

import { KeyfoldError } from "./core.js";
import { ExactNumber, rawItemToTyped, typedItemToRaw } from "./values.js";

/** Attempts of one read while DynamoDB throttles, beyond the SDK's own. */
const READ_ATTEMPTS_MAX = 5;
/** Attempts of one batch. */
export const BATCH_ATTEMPTS_MAX = 10;
/** How long rows of the control table are cached. */
export const READINESS_MS = 5000;
export const CONTROL_TABLE = "keyfold-control";

const closest = (name, known) => known.find((one) => one.toLowerCase() === name.toLowerCase().replaceAll(/[_-]/g, ""));

/** The options of a call. An unknown name is refused: an ignored one could be a condition. */
export const options = (call, given, known) => {
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null) throw new TypeError(`the options of \`${call}\` are an object, not ${given === null ? "null" : `a ${typeof given}`}`);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = closest(name, known);
    throw new TypeError(`\`${call}\` has no option \`${name}\`${meant ? `: did you mean \`${meant}\`?` : `; it has \`${known.join("`, `")}\``}`);
  }
  return given;
};

// Loaded with the first call that sends something: a program that only folds needs no SDK.
let commandsOfSdk;
export const sdk = () => (commandsOfSdk ??= import("@aws-sdk/client-dynamodb"));

let exactOfSdk;
/** How a number is shown that neither `number` nor `bigint` holds exactly; with "number", every number is one. */
export const exactNumbers = async (numbers = "exact") => {
  if (numbers === "number") return Number;
  if (numbers !== "exact") throw new TypeError("`numbers` is \"exact\" or \"number\"");
  exactOfSdk ??= import("@aws-sdk/lib-dynamodb").then(
    ({ NumberValue }) => (digits) => NumberValue.from(digits),
    () => (digits) => new ExactNumber(digits),
  );
  return exactOfSdk;
};

export const isDocumentClient = (client) => client?.config?.translateConfig !== undefined || client?.constructor?.name === "DynamoDBDocumentClient";

/** Sends a command. A client of the caller's own may have no second argument. */
export const send = (client, command, signal) => (signal ? client.send(command, { abortSignal: signal }) : client.send(command));

const RETRYABLE = new Set([
  "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
  "ServiceUnavailable", "TimeoutError", "TransactionConflictException",
]);
export const isRetryable = (error) => RETRYABLE.has(error.name);

export const pause = (attempt, signal) => {
  signal?.throwIfAborted();
  const ceiling = Math.min(50 * 2 ** Math.min(attempt, 16), 5000);
  return new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling)).then(() => signal?.throwIfAborted());
};

/** A page's input for the plain client: keys and values in its own form. */
export const readPage = async (client, { QueryCommand, ScanCommand }, operation, input, signal) => {
  for (const field of ["ExclusiveStartKey", "ExpressionAttributeValues"]) {
    if (input[field]) input[field] = typedItemToRaw(input[field]);
  }
  for (let calls = 1; ; calls += 1) {
    try {
      const page = await send(client, operation === "Query" ? new QueryCommand(input) : new ScanCommand(input), signal);
      return {
        items: page.Items ?? [],
        count: page.Count ?? 0,
        scanned: page.ScannedCount ?? 0,
        lastKey: page.LastEvaluatedKey && rawItemToTyped(page.LastEvaluatedKey),
        units: page.ConsumedCapacity?.CapacityUnits ?? 0,
        calls,
      };
    } catch (error) {
      if (calls >= READ_ATTEMPTS_MAX || !isRetryable(error)) throw error;
      await pause(calls - 1, signal);
    }
  }
};

/** All items of a batch; keys that DynamoDB leaves unprocessed are asked for again. */
export const readItems = async (client, { BatchGetItemCommand }, _, input, signal) => {
  const [[table, asked]] = Object.entries(input.RequestItems);
  const response = { items: [], units: 0 };
  asked.Keys = asked.Keys.map(typedItemToRaw);
  for (let attempt = 0; attempt < BATCH_ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 0) await pause(attempt - 1, signal);
    try {
      const got = await send(client, new BatchGetItemCommand(input), signal);
      response.items.push(...(got.Responses?.[table] ?? []));
      for (const one of got.ConsumedCapacity ?? []) response.units += one.CapacityUnits ?? 0;
      const left = got.UnprocessedKeys?.[table]?.Keys ?? [];
      if (left.length === 0) return response;
      asked.Keys = left;
    } catch (error) {
      if (attempt + 1 >= BATCH_ATTEMPTS_MAX || !isRetryable(error)) throw error;
    }
  }
  throw new KeyfoldError({
    code: "unprocessed",
    message: `\`BatchGetItem\` on table \`${table}\` left ${asked.Keys.length} undone after ${BATCH_ATTEMPTS_MAX} attempts`,
  });
};
