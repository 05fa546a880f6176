// Lambda's loop around a function, for its Runtime API: one event after another.

import http from "node:http";
import { handler } from "./function.mjs";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path: `/2018-06-01/runtime${path}`, agent }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function serve() {
  for (;;) {
    const { headers, body } = await call("GET", "/invocation/next");
    const id = headers["lambda-runtime-aws-request-id"];
    try {
      await call("POST", `/invocation/${id}/response`, JSON.stringify(await handler(JSON.parse(body))));
    } catch (error) {
      const told = JSON.stringify({ errorType: error.name, errorMessage: error.message });
      await call("POST", `/invocation/${id}/error`, told);
    }
  }
}

serve();
