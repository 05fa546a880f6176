"""How long functions take from the start of their process to their first answer, compared with `bare`, which does nothing.

    cargo lambda build --release -p keyfold-bare -p keyfold-query-api -p keyfold-audit-writer -p keyfold-replicator
    python3 bench/coldstart.py [--binaries DIR] [--runs N]

Starts DIR/NAME/bootstrap with the variables of the template, each function in turn, so that other work of the machine affects all of
them alike. This script plays Lambda's Runtime API and DynamoDB. It prints a table in Markdown: medians, with quartiles in brackets.
"""

import argparse
import json
import queue
import re
import statistics
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LATER_ANSWERS = 100
WHERE = {"resourceId": "r0007", "action": "viewed", "accessedBy": "joe1"}
QUESTION = {"table": "audit", "where": WHERE, "order": "timestamp", "limit": 20}
ITEMS = [
    WHERE | {"id": f"id-{at}", "timestamp": f"2017-05-01T00:00:{at:02}.000Z", "byResourceActionUser_pk": "r0007-viewed-joe1"}
    for at in range(20)
]
PAGE = {
    "Items": [{name: {"S": text} for name, text in item.items()} for item in ITEMS],
    "Count": 20,
    "ScannedCount": 20,
    "ConsumedCapacity": {"TableName": "benchPackages", "CapacityUnits": 1.0},
}
QUERY = json.loads((ROOT / "events/query-api/query.json").read_text()) | {"body": json.dumps(QUESTION)}
# Each function and its event; without one it is only started.
FUNCTIONS = {"bare": {}, "query-api": QUERY, "audit-writer": None, "replicator": None}


class Handler(BaseHTTPRequestHandler):
    """Lambda's Runtime API, and DynamoDB with one page of items."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def parse_request(self):
        self.arrived = time.perf_counter()
        return super().parse_request()

    def do_GET(self):
        self.server.requests.put(("next", self.arrived, b""))
        headers = {"runtime-aws-request-id": "id", "runtime-deadline-ms": int(time.time() * 1000) + 60_000}
        headers["runtime-invoked-function-arn"] = "arn:aws:lambda:us-east-1:1:function:f"
        self.reply(200, self.server.events.get(), {f"lambda-{name}": value for name, value in headers.items()})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if "x-amz-target" in self.headers:
            self.reply(200, PAGE, {"content-type": "application/x-amz-json-1.0"})
        else:
            self.server.requests.put((self.path.rsplit("/", 1)[1], self.arrived, body))
            self.reply(202, {}, {})

    def reply(self, status, body, headers):
        body = json.dumps(body).encode()
        self.send_response_only(status)
        for name, value in (headers | {"content-length": len(body)}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def variables(name, port):
    manifest = "bench/coldstart.toml" if name == "query-api" else "keyfold.toml"
    return {
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}",
        "AWS_LAMBDA_FUNCTION_NAME": "function",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "KEYFOLD_MANIFEST": str(ROOT / manifest),
        "KEYFOLD_TOKEN_SECRET": "page-token-key",
        "KEYFOLD_RETROFIT": "auditV2",
        "KEYFOLD_CONTROL_TABLE": "keyfold-control",
        "KEYFOLD_AUTH": "open",
        "KEYFOLD_ENDPOINT": f"http://127.0.0.1:{port}",
    }


def cpu_ms(process):
    """CPU of all threads of a process, those that have ended left out."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6


def measure(name, program):
    """What one process took: figures by column."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.requests, server.events = True, queue.Queue(), queue.Queue()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    environment = variables(name, server.server_port)
    begun = time.perf_counter()
    process = subprocess.Popen([program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def request(expected):
        kind, arrived, body = server.requests.get(timeout=10)
        assert kind == expected, f"{name}: {kind}: {body.decode()}"
        return (arrived - begun) * 1e3, body

    try:
        figures = {"start, ms": request("next")[0]}
        figures["its CPU, ms"] = cpu_ms(process)
        if FUNCTIONS[name] is not None:
            for at in range(1 + LATER_ANSWERS):
                server.events.put(FUNCTIONS[name])
                answered, body = request("response")
                if at == 0:
                    figures["first answer, ms"], cpu = answered, cpu_ms(process)
                request("next")
            figures["CPU of a later answer, µs"] = (cpu_ms(process) - cpu) * 1e3 / LATER_ANSWERS
            if name == "query-api":
                answer = json.loads(body)
                assert len(json.loads(answer["body"])["items"]) == 20, answer
        status = Path(f"/proc/{process.pid}/status").read_text()
        figures["memory, MB"] = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
        return figures
    finally:
        process.kill()
        process.wait()
        server.shutdown()
        server.server_close()


def spread(values, digits=".3g", unit=""):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:{digits}}{unit} [{low:{digits}}, {high:{digits}}]"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", type=Path, default=ROOT / "target/lambda")
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    programs = {name: arguments.binaries / name / "bootstrap" for name in FUNCTIONS}
    absent = [name for name, program in programs.items() if not program.is_file()]
    if absent:
        packages = " ".join(f"-p keyfold-{name}" for name in absent)
        raise SystemExit(f"not in {arguments.binaries}: run `cargo lambda build --release {packages}` first")
    runs = {name: [] for name in FUNCTIONS}
    # The first start of each reads its file.
    for run in range(arguments.runs + 1):
        for turn in range(len(runs)):
            name = list(runs)[(run + turn) % len(runs)]
            figures = measure(name, programs[name])
            if run > 0:
                runs[name].append(figures)
    columns = list(runs["bare"][0])
    print("| | size, MB | start, relative to bare | " + " | ".join(columns) + " |\n|---|---:|---:|" + "---:|" * len(columns))
    for name, figures in runs.items():
        ratios = [ours["start, ms"] / bare["start, ms"] for ours, bare in zip(figures, runs["bare"])]
        cells = [f"{programs[name].stat().st_size / 1e6:.3g}", spread(ratios, ".2f", "x")]
        cells += [spread([run[column] for run in figures]) if column in figures[0] else "" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


main()
