// Helpers for tests: a `keyfold local` with the tables of a manifest, for the duration of a test file.

import { spawn } from "node:child_process";
import { createServer } from "node:net";

const START_MS = 20_000;

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts `keyfold local` with an empty database in memory. Returns the endpoint, the options of a client, and `stop`. */
export const startLocal = async ({ manifest = "keyfold.toml", command = process.env.KEYFOLD_COMMAND ?? "keyfold" } = {}) => {
  const port = await freePort();
  const child = spawn(command, ["--manifest", manifest, "local", "--port", `${port}`, "--api-port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output = `${output}${text}`.slice(-4000)));
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", (error) => resolve(error.message)));
  const stop = async () => {
    child.kill();
    await ended;
  };
  const endpoint = `http://127.0.0.1:${port}`;
  const until = Date.now() + START_MS;
  let status;
  ended.then((code) => (status = code ?? "a signal"));
  for (;;) {
    const isReady = await fetch(endpoint, { method: "POST", headers: { "x-amz-target": "DynamoDB_20120810.ListTables", "content-type": "application/x-amz-json-1.0", authorization: "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0" }, body: "{}" }).then(() => true, () => false);
    if (isReady) break;
    if (status !== undefined || Date.now() > until) {
      await stop();
      throw new Error(`\`${command} local\` did not start: ${status ?? "it took too long"}\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { endpoint, clientOptions: { endpoint, region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } }, stop };
};

/** `useLocal(beforeAll, afterAll)` of Jest, Vitest or node:test: starts it before the file's tests and stops it after them. Returns an
 * object that has the fields of `startLocal` while tests run. */
export const useLocal = (beforeAll, afterAll, options) => {
  const local = {};
  beforeAll(async () => {
    Object.assign(local, await startLocal(options));
  });
  afterAll(() => local.stop?.());
  return local;
};
