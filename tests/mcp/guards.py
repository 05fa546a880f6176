#!/usr/bin/env python3
"""Checks what `keyfold mcp` refuses, hides and counts: caps, budgets, sizes, hidden attributes, other tenants. Without the SDK, line by line.

Usage: guards.py KEYFOLD
"""

import concurrent.futures
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYFOLD = os.path.abspath(sys.argv[1])
#: The units of a page, by which a call can exceed its cap.
PAGE_UNITS = 128
DAY_UNITS = 20_000


class Site:
    """A folder with a manifest, and an embedded DynamoDB with its tables."""

    def __init__(self, manifest):
        self.folder = tempfile.TemporaryDirectory()
        self.state = pathlib.Path(self.folder.name) / "state/mcp-units.json"
        self.write("keyfold.toml", manifest)
        words = [KEYFOLD, "--json", "local", "--port", "0", "--api-port", "0"]
        self.local = subprocess.Popen(words, cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        text = ""
        while not text.endswith("}\n"):
            text += self.local.stdout.readline()
        self.endpoint = json.loads(text)["dynamodb"]

    def write(self, name, text):
        (pathlib.Path(self.folder.name) / name).write_text(text)

    def run(self, *words):
        subprocess.run([KEYFOLD, "--endpoint", self.endpoint, *words], cwd=self.folder.name, check=True, capture_output=True)

    def load(self, table, items):
        self.write("items.jsonl", "\n".join(json.dumps(item) for item in items))
        self.run("load", table, "items.jsonl")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.local.terminate()
        self.local.wait()
        self.folder.cleanup()


class Agent:
    """A server, and its client in protocol 2025-11-25."""

    def __init__(self, site, *words, endpoint=None, aws=False):
        place = [] if aws else ["--endpoint", endpoint or site.endpoint]
        words = [KEYFOLD, *place, "mcp", "--state", str(site.state.parent), *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        # A user without credentials.
        alone = {"HOME": site.folder.name, "AWS_EC2_METADATA_DISABLED": "true"} if aws else None
        self.server = subprocess.Popen(words, cwd=site.folder.name, text=True, env=alone, **pipes)
        self.number, self.heard = 0, ""
        self.result("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.line({"method": "notifications/initialized"})

    def line(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def send(self, method, params):
        self.number += 1
        self.line({"id": self.number, "method": method, "params": params})

    def next_result(self):
        while True:
            line = self.server.stdout.readline()
            assert line, "the server has ended"
            self.heard += line
            message = json.loads(line)
            if message.get("id") == self.number:
                return message["result"]

    def result(self, method, params):
        self.send(method, params)
        return self.next_result()

    def text(self, tool, arguments):
        return self.result("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"]

    def tool(self, name, **arguments):
        return json.loads(self.text(name, arguments))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()


@contextlib.contextmanager
def proxy(site, before):
    """An endpoint that passes requests on, except those for which `before(operation)` returns an error."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            status, answer = 400, before(self.headers["x-amz-target"].split(".")[1])
            if answer is None:
                upstream = http.client.HTTPConnection(site.endpoint.removeprefix("http://"))
                upstream.request("POST", "/", body, dict(self.headers))
                response = upstream.getresponse()
                status, answer = response.status, response.read()
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def units(answer):
    return answer["consumed"]["readUnits"]


def sample():
    site = Site((ROOT / "keyfold.toml").read_text())
    event = {"resourceId": "r", "action": "viewed", "timestamp": "2017-03-01T08:00:00.000Z", "accessedBy": "joe"}
    site.load("audit", [{"id": f"{number:03}", **event} for number in range(100)])
    return site


#: At least 25 units.
FIFTY = {"table": "audit", "where": {"id": {"in": [f"{number:03}" for number in range(50)]}}}


def caps_and_counts(site):
    with Agent(site, "--call-max", "5") as agent:
        explained = agent.tool("explain", **FIFTY, readUnitsMax=1e9)
        equal(explained["allowed"], False)
        equal(agent.tool("query", **FIFTY, readUnitsMax=1e9)["code"], "call-too-expensive")
        equal([agent.tool("query", **FIFTY, readUnitsMax=most)["code"] for most in (0, -1)], ["malformed-request"] * 2)
    for limit in ("--day-max", "--session-max"):
        with Agent(site, limit, "3") as agent:
            refused = agent.tool("query", **FIFTY)
            equal((refused["code"], units(refused)), ("call-too-expensive", 0))
    with Agent(site, "--session-max", "0.5") as agent:
        one = {"table": "audit", "where": {"id": "001"}}
        equal([agent.tool("query", **one).get("code") for _ in range(2)], [None, "budget-exhausted"])
    with Agent(site, "--items-max", "30") as agent:
        equal([len(agent.tool("query", **FIFTY, **more)["items"]) for more in ({}, {"limit": 1000})], [20, 30])
        assert "items" not in agent.tool("query", **FIFTY, count=True)
        refused = agent.tool("query", table="audit", where={"resourceName": "x"})
        assert refused["hint"].startswith("this server does not scan"), refused


def the_count_of_the_day(site):
    now = int(time.time())
    today, one = now // 86_400, {"table": "audit", "where": {"id": "001"}}

    def day(consumed, *reserved, day=today, version=1):
        rows = [{"id": str(number), "units": most, "until_seconds": until} for number, (most, until) in enumerate(reserved)]
        site.state.write_text(json.dumps({"v": version, "day": day, "units": consumed, "reserved": rows}))

    with Agent(site) as agent:
        left = lambda: agent.tool("budget")["left"]["day"]
        day(10, (5_000, now + 50))
        equal(left(), DAY_UNITS - 5_010)
        # The reservation of a server that was killed is counted once.
        day(10, (5_000, now - 1))
        equal([left(), left()], [DAY_UNITS - 5_010] * 2)
        day(DAY_UNITS, day=today - 1)
        equal(left(), DAY_UNITS)
        day(0, (DAY_UNITS - 100, now + 50))
        equal(agent.tool("query", **one)["code"], "budget-reserved")
        day(0, version=2)
        equal(agent.tool("budget")["code"], "unknown-format")
        day(0)
        with open(site.state.with_suffix(".lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            agent.send("tools/call", {"name": "budget", "arguments": {}})
            answers = []
            waiting = threading.Thread(target=lambda: answers.append(agent.next_result()))
            waiting.start()
            waiting.join(1)
            equal(answers, [])
        waiting.join()
        site.state.write_text(site.state.read_text() + " " * 2**20)
        equal(agent.tool("budget")["code"], "budget-unreadable")
        day(0)

    # A reservation that has expired during its call is counted already.
    def expire(operation):
        if operation == "Query":
            day(1_000)

    # A request that is never sent consumes nothing.
    with Agent(site, aws=True) as agent:
        refused = agent.tool("query", table="audit-legacy", where={"id": "1"})
        equal((refused["code"], units(refused)), ("no-credentials", 0))
    with proxy(site, expire) as endpoint, Agent(site, endpoint=endpoint) as agent:
        equal(agent.tool("query", **one)["left"]["day"], DAY_UNITS - 1_000)
        day(0)


def sizes():
    manifest = """
        [tables.large]
        partition = "p"
        sort = "s"
        expect = { items = 120, item-bytes = 100 }
        attributes = { p = "string", s = "string", text = "string" }
        [questions.large.few]
        where = ["p"]
        limit = 5
        select = ["s"]
    """
    ten = {"table": "large", "where": {"p": "p1"}, "limit": 10}
    with Site(manifest) as site:
        items = [{"p": "p1", "s": f"{number:03}", "text": "x" * 20_000} for number in range(20)]
        site.load("large", [*items, {"p": "huge", "s": "1", "text": "x" * 70_000}])
        with Agent(site, "--call-max", "20") as agent:
            # A page that does not fit is read again only if units are left.
            refused = agent.tool("query", **ten)
            equal((refused["code"], round(units(refused))), ("answer-too-large", 24))
            huge = {"table": "large", "where": {"p": "huge"}}
            equal(agent.tool("query", **huge)["code"], "answer-too-large")
            equal(agent.tool("query", **huge, select=["s"])["count"], 1)
            limits = [agent.tool("ask", question="few", parameters={"p": "p1"}, limit=limit)["count"] for limit in (3, 30)]
            equal(limits, [3, 5])
        reserved = []

        def second_fails(operation):
            if operation == "Query":
                reserved.append(json.loads(site.state.read_text())["reserved"][0]["units"])
                if len(reserved) == 2:
                    return b'{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}'

        with proxy(site, second_fails) as endpoint, Agent(site, "--call-max", "300", endpoint=endpoint) as agent:
            equal(round(units(agent.tool("query", **ten))), 24)
            agent.tool("query", **{**ten, "limit": 1}, consistent=True)
            equal(reserved, [300 + PAGE_UNITS, 300 + PAGE_UNITS, 300 + 2 * PAGE_UNITS])


def long_messages():
    table = '[tables.table{0}]\npartition = "p"\n[tables.table{0}.attributes]\np = "string"\n'
    long = "".join(f'{"long" * 50}{number} = "string"\n' for number in range(400))
    with Site(table.format(0) + long + "".join(table.format(number) for number in range(1, 6))) as site, Agent(site) as agent:
        equal(agent.tool("describe_model")["tables"][5], {"table": "table5", "questions": 0})
        equal(agent.tool("describe_model", table="table0")["code"], "answer-too-large")
        equal(agent.tool("query", table="t" * 100_000), {"code": "unknown-table"})
        agent.line({"id": "long", "method": "tools/list", "params": {}, "x": "x" * 2**20})
        assert agent.tool("budget")["left"] and '"long"' not in agent.heard


def hidden_names():
    manifest = """
        [tables.people]
        partition = "{email}#{team}"
        scope = { org = "jwt.org" }
        [tables.people.attributes]
        team = "string"
        email = "string"
        kind = "string"
        org = "string"
        name = "string"
        [tables.people.entities.guest]
        when = { kind = "guest" }
        [tables.people.entities.member]
        when = { kind = "member" }
        [tables.people.indexes.byTeam]
        partition = ["team"]
        sort = ["email"]
        [tables.people.indexes.byName]
        partition = ["name"]
        [questions.people.named]
        where = ["name", "email?"]
        [questions.people.sorted]
        where = ["name"]
        order = "email"
        [questions.people.guests]
        where = ["name"]
        entity = "guest"
    """
    with Site(manifest) as site, Agent(site, "--hide", "email", "--hide", "kind", "--hide", "org") as agent:
        table = agent.tool("describe_model")["tables"][0]
        equal((table["key"], table["scopedBy"]), (["{(hidden)}#{team}"], []))
        equal(table["questions"], [{"question": "named", "parameters": [{"name": "name"}]}])
        query = lambda **rest: agent.tool("query", table="people", **rest)
        equal(query(where={"name": "joe"}, entity=["guest"])["code"], "attribute-hidden")
        equal(query(where={"team": "red"})["code"], "attribute-hidden")
        equal(query()["code"], "needs-scan")
        assert agent.tool("explain", table="people", where={"name": "joe"})["allowed"]
        site.load("people", [{"email": "joe@x", "team": "red", "kind": "guest", "org": "acme", "name": "joe"}])
        equal(query(where={"name": "joe"})["items"], [{"team": "red", "name": "joe"}])
        equal([word for word in ("email", "kind", "byTeam", "org") if word in agent.heard], [])
    # A folded key stays where it holds what is stored nowhere else.
    manifest = """
        [tables.shop]
        partition = { attribute = "PK" }
        [tables.shop.entities.customer]
        attributes.customerId = { type = "string", from-key = true }
        partition = "customer#{customerId}"
    """
    with Site(manifest) as site, Agent(site) as agent:
        site.load("shop", [{"PK": "customer#1"}])
        items = agent.tool("query", table="shop", where={"customerId": "1"})["items"]
        equal(items, [{"PK": "customer#1", "customerId": "1"}])


def tenants():
    retrofit = """
        [tables.notes{0:02}]
        partition = "id"
        scope = {{ org = "jwt.org" }}
        attributes = {{ id = "string", org = "string", a = "string" }}
        indexes.byA.partition = "{{org}}-{{a}}"
        [retrofits.r{0:02}]
        from = "notes{0:02}"
        to = "notes{0:02}"
    """
    with Site("".join(map(retrofit.format, range(21)))) as site:
        site.load("notes00", [{"id": "1", "org": "umbrella", "text": "x" * 50_000}])
        site.run("retrofit", "run", "r20", "--until", "start")
        with Agent(site, "--scope", "jwt.org=acme") as agent, Agent(site) as trusted:
            for name in ("1", "absent"):
                answer = agent.tool("query", table="notes00", where={"id": name})
                equal((answer["count"], units(answer)), (0, 0.5))
            equal(units(agent.tool("budget")), 1)
            equal(len(agent.tool("retrofit_status")["retrofits"]), 20)
            one, whole = [client.tool("retrofit_status", retrofit="r20")["retrofits"][0] for client in (agent, trusted)]
            equal(sorted(whole.keys() - one), ["accepted", "differences", "late", "misfits", "quarantined", "rates"])
            equal(one["gates"], [{"code": gate["code"]} for gate in whole["gates"]])


def questions_and_indexes():
    with Site((ROOT / "examples/projects/keyfold.toml").read_text()) as site, Agent(site) as agent:
        get = {"question": "get", "parameters": {"id": "acme"}}
        equal(agent.tool("ask", **get)["code"], "malformed-request")
        equal(agent.tool("ask", **get, table="organisations")["count"], 0)
    table = '[tables.table]\npartition = "p"\nattributes = { p = "string", a = "string" }\n'
    with Site(table) as site:
        site.write("keyfold.toml", table + 'indexes.byA.partition = ["a"]\n')
        with Agent(site) as agent:
            first, second = [agent.tool("query", table="table", where={"a": "1"}) for _ in range(2)]
            equal([first["code"], second["code"]], ["index-pending", "index-pending"])
            # Only the first was asked of DynamoDB.
            equal(first["hint"] == second["hint"], False)


def a_table_that_never_answers():
    with sample() as site, socket.create_server(("127.0.0.1", 0)) as silent:
        agent = Agent(site, endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}")
        refused = agent.tool("query", table="audit-legacy", where={"id": "1"})
        equal((refused["code"], refused["detail"]), ("timed-out", "the answer was not complete in time"))
        agent.server.kill()


def main():
    cases = [sizes, long_messages, hidden_names, tenants, questions_and_indexes]
    with sample() as site, concurrent.futures.ThreadPoolExecutor() as beside:
        # It takes half a minute.
        slow = beside.submit(a_table_that_never_answers)
        caps_and_counts(site)
        the_count_of_the_day(site)
        for case in cases:
            case()
        slow.result()
    print(f"{len(cases) + 3} groups of guards hold")


main()
