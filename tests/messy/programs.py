"""The real programs: `keyfold local` with the functions' binaries, the command, and what ends them."""

import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "statemachine"))
from runtime import Ended, Function  # noqa: E402

MANIFEST = pathlib.Path(__file__).resolve().parent / "keyfold.toml"
START_SECONDS = 30
# How long a request of a killed function can take.
WAITS = "in-flight=3,quiet=3,lag=2"
COMMAND_SECONDS = 120
IDLE_SECONDS = 5


class Refused(Exception):
    """DynamoDB's answer to a bad request."""


class Dynamo:
    """DynamoDB's protocol, one connection for each thread."""

    def __init__(self, port):
        self.port, self.own = port, threading.local()

    def __call__(self, operation, **body):
        # The server closes a connection that is idle for long.
        if time.monotonic() - getattr(self.own, "used", 0) > IDLE_SECONDS:
            self.own.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.own.used = time.monotonic()
        credential = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0", "Authorization": credential, "X-Amz-Date": "20260101T000000Z"}
        self.own.connection.request("POST", "/", json.dumps(body), headers)
        answer = self.own.connection.getresponse()
        said = json.loads(answer.read() or "{}")
        if answer.status != 200:
            raise Refused(f"{operation} {body.get('TableName')}: {said}")
        return said

    def load(self, table, items):
        items = list(items)
        for at in range(0, len(items), 10):
            left = {table: [{"PutRequest": {"Item": item}} for item in items[at:at + 10]]}
            while left:
                left = self("BatchWriteItem", RequestItems=left).get("UnprocessedItems")

    def items(self, table):
        """Every item, read consistently."""
        found, start = [], {}
        while start is not None:
            page = self("Scan", TableName=table, ConsistentRead=True, **start)
            found += page["Items"]
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if "LastEvaluatedKey" in page else None
        return found


class Programs:
    def __init__(self, folder, log, port, seed, manifest=MANIFEST, data=None):
        self.folder, self.log, self.port, self.dice = folder, log, port, random.Random(seed)
        self.manifest, self.data = manifest, ["--data", data] if data else []
        self.endpoint, self.killed, self.dynamo = f"http://127.0.0.1:{port}", {}, Dynamo(port)
        self.start()

    def start(self):
        words = ["--manifest", self.manifest, "local", "--port", str(self.port), "--api-port", "0", "--functions", self.folder, *self.data]
        self.server, until = subprocess.Popen([self.folder / "keyfold", *words], stdout=self.log, stderr=self.log), time.monotonic() + START_SECONDS
        while True:
            try:
                # The control table is made last.
                self.dynamo("DescribeTable", TableName="keyfold-control")
                return
            except (OSError, Refused):
                assert self.server.poll() is None and time.monotonic() < until, "keyfold local does not start"
            self.dynamo.own = threading.local()
            time.sleep(0.1)

    def end(self):
        self.server.send_signal(signal.SIGINT)
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()

    def command(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KEYFOLD_", "AWS_"))}
        environment["KEYFOLD_WAITS"] = WAITS
        words = [self.folder / "keyfold", "--manifest", self.manifest, "--json", *words, "--endpoint", self.endpoint]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def keyfold(self, *words, codes=(0,)):
        """What a command of `retrofit` says, which must end so."""
        return self.said("retrofit", *words, codes=codes)

    def said(self, *words, codes=(0,)):
        """What a command says, which must end so."""
        running = self.command(*words)
        said, error = running.communicate(timeout=COMMAND_SECONDS)
        assert running.returncode in codes, f"{words}: {running.returncode}\n{said}{error}"
        return json.loads(said) if said.strip() else {}

    def interrupted(self, which, *words, ends=0):
        """Begins a command and ends it by a signal; the same words go on where it was. Was it still at work?"""
        running = self.command("retrofit", *words)
        time.sleep(self.dice.uniform(0.3, 1.2))
        running.send_signal(which)
        running.communicate(timeout=COMMAND_SECONDS)
        hit = running.returncode != ends
        if hit:
            self.note(f"command by {which.name}")
        wanted = {ends, 130} if which == signal.SIGINT else {ends, 130, 143, -which}
        assert running.returncode in wanted, f"{words} by {which.name}: {running.returncode}"
        return hit

    def note(self, what):
        self.killed[what] = self.killed.get(what, 0) + 1

    def replicators(self):
        """The processes of the server: its functions."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                name, rest = (entry / "stat").read_text().rsplit(")", 1)
            except OSError:
                continue
            if int(rest.split()[1]) == self.server.pid and name.endswith("replicator"):
                found.append(int(entry.name))
        return found


class Killer:
    """Kills a replicator now and then, as `kill -9` does."""

    def __init__(self, programs):
        self.programs, self.stop = programs, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop.wait(self.programs.dice.uniform(0.4, 1.0)):
            for process in self.programs.replicators()[:1]:
                try:
                    os.kill(process, signal.SIGKILL)
                    self.programs.note("replicator by SIGKILL")
                except ProcessLookupError:
                    pass

    def end(self):
        self.stop.set()
        self.thread.join()


class Slices:
    """A function that takes slices, invoked as the state machine does; killed so often on the way."""

    def __init__(self, programs, name):
        self.programs, self.name = programs, name
        self.environment = {"PATH": os.environ["PATH"], "KEYFOLD_MANIFEST": str(MANIFEST), "KEYFOLD_ENDPOINT": programs.endpoint}

    def run(self, retrofit, segments, kills, **more):
        """The last answer of each segment."""
        ends, function = [], None
        for segment in range(segments):
            event = {"retrofit": retrofit, "segment": segment, "totalSegments": segments, "worker": f"worker {segment}", "pagesMax": 2, **more}
            while True:
                if function is None:
                    function = Function(self.programs.folder / self.name, self.environment, self.programs.log)
                if kills:
                    kills -= 1
                    threading.Timer(self.programs.dice.uniform(0.02, 0.3), function.process.kill).start()
                try:
                    answer = function.invoke(event)
                except Ended:
                    self.programs.note(f"{self.name} by SIGKILL")
                    function = None
                    continue
                if answer["done"]:
                    ends.append(answer)
                    break
                event["checkpoint"] = answer["checkpoint"]
        function.process.kill()
        return ends
