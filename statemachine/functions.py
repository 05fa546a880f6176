"""Plays the state machine of a retrofit with the functions' real binaries, on an embedded DynamoDB: from an empty table to the cut-over,
and through the errors that an operator meets.

Usage: python statemachine/functions.py FOLDER, which has `keyfold`, `backfiller`, `verifier` and `operator`. Standard library, boto3 and jsonata-python.
The states are played by the player of test_retrofit.py; what is behind them is real: the functions take their events over Lambda's Runtime
API, and the replicator follows the stream all the while. Only mapping and alarm are said here: they are AWS's own.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import boto3

from runtime import Ended, Function
from test_retrofit import Failed, Player

HERE = pathlib.Path(__file__).resolve().parent
ITEMS = 300
PORT = 8763
TIMEOUT_SECONDS = 60
KILLS = int(os.environ.get("KEYFOLD_SWITCH_KILLS", 4))


class Account:
    """What is behind the machine's tasks."""

    def __init__(self, folder, manifest, log, **more):
        environment = {"PATH": os.environ["PATH"], "KEYFOLD_MANIFEST": str(manifest), "KEYFOLD_ENDPOINT": f"http://127.0.0.1:{PORT}", **more}
        self.functions = {f"{name.capitalize()}Arn": Function(folder / name, environment, log) for name in ("backfiller", "verifier")}
        self.operator = lambda: Function(folder / "operator", environment, log)
        self.mapping, self.lag, self.calls, self.kills, self.killed = "Enabled", "OK", 0, 0, 0

    def __call__(self, resource, arguments):
        if resource.endswith("getEventSourceMapping"):
            return {"State": self.mapping}
        if resource.endswith("describeAlarms"):
            return {"MetricAlarms": [{"StateValue": self.lag}]}
        if resource.endswith("listObjectsV2"):
            return {"KeyCount": 0}
        self.calls += 1
        event = arguments["Payload"]
        if "operation" in event:
            return {"Payload": self.operate(event)}
        # No record is a minute old here.
        if arguments["FunctionName"].strip("${}") == "VerifierArn":
            event = {**event, "lagSeconds": 0}
        return {"Payload": self.functions[arguments["FunctionName"].strip("${}")].invoke(event)}

    def operate(self, event):
        """A process for each invocation; some are killed on the way. Lambda says of such a one that it failed, and the machine tries again."""
        function = self.operator()
        if self.kills:
            self.kills -= 1
            threading.Timer(random.uniform(0.05, 2.5), function.process.kill).start()
        try:
            return function.invoke(event)
        except Ended:
            self.killed += 1
            raise Failed("Lambda.Unknown") from None
        finally:
            function.process.kill()

    def end(self):
        for function in self.functions.values():
            function.process.kill()


def machine(retrofit):
    return json.loads((HERE / "retrofit.asl.json").read_text().replace("${Retrofit}", retrofit))


def runs(account, retrofit="auditV2", **given):
    return Player(account).run(machine(retrofit), {"retrofit": retrofit, "segments": 3, **given})


def operates(account, kills, **operation):
    account.kills = kills
    return Player(account).run(machine("auditV2"), {"retrofit": "auditV2", "segments": 3, "operation": operation})


def fails(error, account, retrofit="auditV2", **given):
    """The run fails so; within a segment, its child does."""
    player = Player(account)
    try:
        player.run(machine(retrofit), {"retrofit": retrofit, "segments": 3, **given})
    except Failed as failed:
        found = player.failures[0][1] if failed.error == "States.ExceedToleratedFailureThreshold" else failed.error
        assert found == error, f"{found} instead of {error}: {failed.cause}"
        print(f"{error}: as it should be, {player.retried} retries")
        return
    sys.exit(f"{error} was wanted, and nothing failed")


def event(number):
    texts = {"id": f"e{number:04}", "resourceId": f"r{number % 7}", "action": "viewed", "accessedBy": f"u{number % 11}", "timestamp": "2017-03-01T08:00:00.000Z"}
    return {name: {"S": text} for name, text in texts.items()}


def play(folder, temporary, log):
    manifest = temporary / "keyfold.toml"
    text = (HERE.parent / "keyfold.toml").read_text()
    manifest.write_text(text)
    endpoint = f"http://127.0.0.1:{PORT}"
    dynamo = boto3.client("dynamodb", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")

    def keyfold(*words):
        done = subprocess.run([folder / "keyfold", "--manifest", manifest, "retrofit", *words, "--endpoint", endpoint], capture_output=True, text=True, env={**os.environ, "KEYFOLD_WAITS": "in-flight=0,lag=0"})
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip().splitlines()[-1]

    account = Account(folder, manifest, log)
    fails("Keyfold.BadInput", account, segments=0)
    fails("Keyfold.UnknownRetrofit", account, retrofit="nosuch")
    # The source is empty, which is no failure; the retrofit was not started, which is one.
    fails("Keyfold.RetrofitNotStarted", account)
    keyfold("run", "auditV2", "--until", "start")
    print("an empty source:", runs(account)["carried"], "items")
    for number in range(ITEMS):
        dynamo.put_item(TableName="ResourceAccessAudit", Item=event(number))
    account.mapping = "Disabled"
    fails("Keyfold.StreamNotFollowed", account)
    account.mapping, account.lag = "Enabled", "ALARM"
    fails("Keyfold.NotDrained", account)
    account.lag = "OK"
    report = wait_for(lambda: runs(account), "Keyfold.Differences")
    assert report["clean"] and report["compared"] >= ITEMS, report
    print(f"a run: {report['carried']} items carried over, {report['compared']} compared, clean")

    changed = {"UpdateExpression": "SET accessedBy = :who", "ExpressionAttributeValues": {":who": {"S": "somebody"}}}
    dynamo.update_item(TableName="ResourceAccessAuditV2", Key={"id": {"S": "e0001"}}, **changed)
    fails("Keyfold.Differences", account)
    repaired = runs(account, repair=True)
    assert runs(account)["clean"], repaired
    print("a run that repairs, and one that compares: clean")
    other = temporary / "other.toml"
    other.write_text(text.replace('from = "audit-legacy"\nto = "audit"\n', 'from = "audit-legacy"\nto = "audit"\nset = { origin = "old" }\n'))
    assert other.read_text() != text
    changed = Account(folder, other, log)
    fails("Keyfold.MappingChanged", changed)
    changed.end()

    def put(table, item):
        words = [folder / "keyfold", "--manifest", manifest, "put", table, json.dumps(item), "--endpoint", endpoint]
        subprocess.run(words, check=True, capture_output=True)

    switched(account, dynamo, put)
    fails("Keyfold.RetrofitClosed", account)
    print(f"{account.calls} calls of the real functions; the operator was killed {account.killed} times")
    account.end()


def switched(account, dynamo, put):
    """The writers move by the machine alone, are moved back and moved again, while the operator is killed; then the retrofit ends."""
    tables = ("ResourceAccessAudit", "ResourceAccessAuditV2")
    for number, back in enumerate((False, True, False)):
        end = operates(account, KILLS, command="switch", writers="attested", back=back)
        open_, closed = tables if back else tables[::-1]
        print(f"switch{' back' if back else ''}: {end['phase']}, writers were stopped for {end.get('pausedMilliseconds')} ms; {end['next']}")
        put("audit-legacy" if back else "audit", {**{name: value["S"] for name, value in event(9000 + number).items()}, "resourceId": open_})
        follows(dynamo, closed, f"e{9000 + number}")
    end = operates(account, KILLS, command="finish")
    assert end["phase"] == "finalised", end
    found = dynamo.scan(TableName=tables[1], ConsistentRead=True)["Items"]
    assert len(found) >= ITEMS + 3 and not [item for item in found if any(name.startswith("keyfold_") for name in item)], found[:2]


def follows(dynamo, table, key):
    """The closed table gets what is written to the open one."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while "Item" not in dynamo.get_item(TableName=table, Key={"id": {"S": key}}, ConsistentRead=True):
        assert time.monotonic() < until, f"{key} is not in {table}"
        time.sleep(0.2)


def wait_for(run, error):
    """Again, while the replicator is behind."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            return run()
        except Failed as failed:
            if failed.error != error or time.monotonic() > until:
                raise
        time.sleep(0.5)


def main(folder):
    with tempfile.TemporaryDirectory() as temporary, open(f"{temporary}/log", "w") as log:
        server = subprocess.Popen([folder / "keyfold", "--manifest", HERE.parent / "keyfold.toml", "local", "--port", str(PORT), "--api-port", "0"], stdout=log, stderr=log)
        try:
            time.sleep(2)
            play(folder, pathlib.Path(temporary), log)
        finally:
            server.kill()


main(pathlib.Path(sys.argv[1]).resolve())
