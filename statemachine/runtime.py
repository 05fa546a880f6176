"""A function's real binary, invoked over Lambda's Runtime API. Standard library only."""

import http.server
import json
import pathlib
import queue
import subprocess
import threading
import time

TIMEOUT_SECONDS = 60
LOOK_SECONDS = 0.1


class Failed(Exception):
    """An error that the function answered with."""

    def __init__(self, error, cause=""):
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


class Ended(Exception):
    """The process ended before it answered."""


class Function:
    """A function's binary behind a Runtime API of its own."""

    def __init__(self, binary, environment, log):
        events, answers = queue.Queue(), queue.Queue()

        class Runtime(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = json.dumps(events.get()).encode()
                self.send_response(200)
                headers = {"Lambda-Runtime-Aws-Request-Id": "1", "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 900_000),
                           "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:one", "Content-Length": str(len(body))}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "null")
                answers.put((self.path.rsplit("/", 1)[1], body))
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Runtime)
        # A function that is killed leaves its question behind.
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        name = pathlib.Path(binary).name
        own = {"AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_port}", "AWS_LAMBDA_FUNCTION_NAME": name,
               "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_REGION": "us-east-1"}
        self.process = subprocess.Popen([binary], env={**environment, **own}, stdout=log, stderr=log)
        self.events, self.answers = events, answers

    def invoke(self, event):
        self.events.put(event)
        kind, body = self.answer()
        if kind == "error":
            raise Failed(body["errorType"], body["errorMessage"])
        return body

    def answer(self):
        until = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            try:
                return self.answers.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if ended:
                    raise Ended from None
        raise Failed("Sandbox.Timedout")
