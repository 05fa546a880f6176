"""Runs a whole retrofit through what is deployed, and then asks the API.

Usage: python tests/deployment/whole.py FOLDER, which has `keyfold` and the functions' binaries.
The sample's stack is deployed into a simulated AWS (moto), every resource of it. From there come the functions' environments and layers, their
roles' policies, the mappings, the state machine and the routes. Each function is its real binary behind a proxy that enforces its deployed role;
DynamoDB is the embedded one. The state machine is played by statemachine/test_retrofit.py.
"""

import base64
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import boto3

sys.path.insert(0, "statemachine")
from deploy import packed
from roles import Proxy, Role
from runtime import Failed, Function
from simulated import Aws, deploy, zipped
from test_retrofit import Player
from updates import manifest_of

ITEMS = 300
PORT, API = 8764, 8765
WAIT_SECONDS = 60
LOOK_SECONDS = 0.1
MANIFEST = "keyfold.toml"
FOLLOWED = {"AuditV2FollowStream": "true", "AuditV2FollowBack": "true"}


class Deployed:
    """The functions of the stack, by their ARNs, each with its deployed environment, manifest and role."""

    def __init__(self, aws, template, binaries, folder, log):
        self.aws, self.binaries, self.folder, self.log = aws, binaries, folder, log
        self.dynamo = f"http://127.0.0.1:{PORT}"
        stack = aws.stack()
        of_type = [(name, one) for name, one in template["Resources"].items() if one["Type"] == "AWS::Lambda::Function"]
        self.functions = {}
        for name, one in of_type:
            found = aws("lambda").get_function_configuration(FunctionName=stack[name])
            self.functions[found["FunctionArn"]] = (name, one["Metadata"]["BuildProperties"]["Binary"], found)
        self.running, self.roles, self.lock = {}, {}, threading.Lock()

    def arn(self, name):
        return next(arn for arn, (known, *_) in self.functions.items() if known == name)

    def start(self, arn, role=None, remark=""):
        name, binary, found = self.functions[arn]
        role = role or self.roles.get(name) or Role(self.aws.policies(found["Role"].rsplit("/", 1)[1]))
        self.roles[name] = role
        proxy = Proxy(role, self.dynamo, self.aws.url)
        manifest = self.folder / f"{name}.toml"
        manifest.write_text(manifest_of(self.aws, found["Layers"][0]["Arn"]) + remark)
        ours = {"KEYFOLD_MANIFEST": str(manifest), "KEYFOLD_ENDPOINT": proxy.url, "AWS_ENDPOINT_URL_SECRETS_MANAGER": proxy.url,
                "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "PATH": os.environ["PATH"]}
        return Function(self.binaries / binary, {**found["Environment"]["Variables"], **ours}, self.log)

    def invoke(self, arn, event):
        with self.lock:
            if arn not in self.running:
                self.running[arn] = self.start(arn)
            function = self.running[arn]
        with function.__dict__.setdefault("lock", threading.Lock()):
            if function.process.poll() is None:
                return function.invoke(event)
        # It was replaced meanwhile.
        return self.invoke(arn, event)

    def replace(self):
        """New processes of every function, as after an update of their code. What a function is at is done first."""
        with self.lock:
            old, self.running = self.running, {}
        for function in old.values():
            with function.__dict__.setdefault("lock", threading.Lock()):
                function.process.kill()
                function.process.wait()

    def denied(self):
        return {name: role.denied for name, role in self.roles.items() if role.denied}

    def end(self):
        for function in self.running.values():
            function.process.kill()


class Machine:
    """The state machine's tasks, with the rights of its role."""

    def __init__(self, aws, deployed, name):
        self.aws, self.deployed, self.slices_max = aws, deployed, None
        machine = aws("stepfunctions").describe_state_machine(stateMachineArn=aws.stack()[name])
        self.definition, self.role = json.loads(machine["definition"]), Role(aws.policies(machine["roleArn"].rsplit("/", 1)[1]))

    def __call__(self, resource, arguments):
        if resource.endswith("getEventSourceMapping"):
            self.may("lambda:GetEventSourceMapping", f"arn:aws:lambda:us-east-1:123456789012:event-source-mapping:{arguments['Uuid']}")
            return {"State": self.aws("lambda").get_event_source_mapping(UUID=arguments["Uuid"])["State"]}
        if resource.endswith("describeAlarms"):
            name = arguments["AlarmNames"][0]
            alarm = self.aws("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
            self.may("cloudwatch:DescribeAlarms", alarm["AlarmArn"])
            return {"MetricAlarms": [{"StateValue": alarm["StateValue"]}]}
        if resource.endswith("listObjectsV2"):
            self.may("s3:ListBucket", f"arn:aws:s3:::{arguments['Bucket']}")
            found = self.aws("s3").list_objects_v2(**arguments).get("Contents", [])
            return {"Contents": [{"Key": one["Key"]} for one in found]} if found else {"KeyCount": 0}
        assert resource == "arn:aws:states:::lambda:invoke", resource
        arn, event = arguments["FunctionName"], arguments["Payload"]
        self.may("lambda:InvokeFunction", arn)
        # No record is a minute old here.
        if "Verifier" in arn:
            event = {**event, "lagSeconds": 0}
        if "Backfiller" in arn and "dryRun" not in event and self.slices_max is not None:
            self.slices_max -= 1
            if self.slices_max < 0:
                raise Failed("States.Stopped", "somebody stopped the execution")
        return {"Payload": self.deployed.invoke(arn, event)}

    def may(self, action, resource):
        if not self.role.allows(action, resource):
            raise Failed("States.AccessDenied", f"{action} on {resource}")

    def run(self, **given):
        return Player(self).run(self.definition, {"retrofit": "auditV2", "segments": 3, **given})


class Stream(threading.Thread):
    """A mapping of the stack: records of the embedded table's stream, for the function that the mapping names."""

    def __init__(self, mapping, deployed):
        super().__init__(daemon=True)
        self.function, self.deployed, self.records, self.error = mapping["FunctionArn"], deployed, 0, None
        self.client = client("dynamodbstreams", deployed.dynamo)
        table = mapping["EventSourceArn"].split("/")[1]
        self.arn = client("dynamodb", deployed.dynamo).describe_table(TableName=table)["Table"]["LatestStreamArn"]
        name = deployed.functions[self.function][0]
        role = Role(deployed.aws.policies(deployed.functions[self.function][2]["Role"].rsplit("/", 1)[1]))
        for action in ("DescribeStream", "GetRecords", "GetShardIterator"):
            assert role.allows(f"dynamodb:{action}", mapping["EventSourceArn"]), f"{name} may not {action}"
        self.start()

    def run(self):
        iterators = {}
        while True:
            for shard in self.client.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]:
                if shard["ShardId"] not in iterators:
                    first = self.client.get_shard_iterator(StreamArn=self.arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
                    iterators[shard["ShardId"]] = first["ShardIterator"]
            for shard, iterator in list(iterators.items()):
                if iterator:
                    got = self.client.get_records(ShardIterator=iterator, Limit=100)
                    self.deliver(got["Records"])
                    iterators[shard] = got.get("NextShardIterator")
            time.sleep(LOOK_SECONDS)

    def deliver(self, records):
        while records:
            event = json.loads(json.dumps({"Records": [{**record, "eventSourceARN": self.arn} for record in records]}, default=plain))
            try:
                failed = self.deployed.invoke(self.function, event)["batchItemFailures"]
            except Failed as error:
                self.error = error
                time.sleep(1)
                continue
            numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
            done = numbers.index(failed[0]["itemIdentifier"]) if failed else len(records)
            self.records, records = self.records + done, records[done:]


def plain(value):
    """What JSON cannot say, as Lambda says it."""
    return value.timestamp() if isinstance(value, datetime.datetime) else base64.b64encode(value).decode()


def client(service, url):
    return boto3.client(service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")


def without_retrofits(text):
    """A manifest whose tables nothing follows: the embedded DynamoDB has no replicator of its own then."""
    kept = re.sub(r"(?ms)^\[retrofits\.\w+\]\n.*?(?=^\[|\Z)", "", text)
    return re.sub(r"(?m)^retrofits = .*\n", "", kept)


def event(number, **more):
    texts = {"id": f"e{number:04}", "resourceId": f"r{number % 7}", "action": "viewed", "accessedBy": f"u{number % 11}", "timestamp": "2017-03-01T08:00:00.000Z"}
    return {name: {"S": text} for name, text in {**texts, **more}.items()}


def request(route, body):
    method, path = route.split(" ")
    return {"version": "2.0", "routeKey": route, "rawPath": path, "rawQueryString": "", "headers": {"content-type": "application/json"}, "isBase64Encoded": False,
            "requestContext": {"http": {"method": method, "path": path}, "authorizer": {"iam": {"userArn": "arn:aws:iam::123456789012:role/reader"}}},
            "body": json.dumps(body)}


def asked(aws, deployed, route, body):
    """The answer of the function that the route reaches."""
    gateway, api = aws("apigatewayv2"), aws.stack()["HttpApi"]
    target = next(one["Target"] for one in gateway.get_routes(ApiId=api)["Items"] if one["RouteKey"] == route)
    arn = gateway.get_integration(ApiId=api, IntegrationId=target.removeprefix("integrations/"))["IntegrationUri"]
    answer = deployed.invoke(arn, request(route, body))
    assert answer["statusCode"] < 300, answer
    return json.loads(answer["body"])


def operate(machine, streams, **operation):
    """The operator, by the state machine: until both sides are the same, and then to its end."""
    return until_clean(machine, streams, operation=operation)


def until_clean(machine, streams, **given):
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return machine.run(**given)
        except Failed as failed:
            if failed.error != "Keyfold.Differences" or time.monotonic() > until:
                raise Failed(failed.error, f"{failed.cause}; of the streams: {[stream.error for stream in streams]}") from failed
        time.sleep(0.5)


def play(aws, binaries, keyfold, folder, log):
    template = packed(aws, str(binaries / "keyfold"), MANIFEST)
    deploy(aws, template, {})
    deployed = Deployed(aws, template, binaries, folder, log)
    dynamo = client("dynamodb", deployed.dynamo)
    for table in ("ResourceAccessAudit", "ResourceAccessAuditV2"):
        dynamo.update_table(TableName=table, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    for number in range(ITEMS):
        dynamo.put_item(TableName="ResourceAccessAudit", Item=event(number))
    keyfold("retrofit", "run", "auditV2", "--until", "start")
    deploy(aws, template, FOLLOWED)
    mappings = aws("lambda").list_event_source_mappings()["EventSourceMappings"]
    streams = [Stream(mapping, deployed) for mapping in mappings if ":dynamodb:" in mapping["EventSourceArn"] and mapping["State"] == "Enabled"]
    assert len(streams) == 2, mappings
    # moto computes no alarm: without data it is OK.
    for lag in aws("cloudwatch").describe_alarms(AlarmNamePrefix=aws.stack()["AuditV2LagAlarm"])["MetricAlarms"]:
        aws("cloudwatch").set_alarm_state(AlarmName=lag["AlarmName"], StateValue="OK", StateReason="no data")
    machine = Machine(aws, deployed, "AuditV2StateMachine")
    for number in range(ITEMS, ITEMS + 20):
        dynamo.put_item(TableName="ResourceAccessAudit", Item=event(number))
    dynamo.delete_item(TableName="ResourceAccessAudit", Key={"id": {"S": "e0000"}})
    upgraded(aws, deployed, template, machine, dynamo)
    report = until_clean(machine, streams)
    print(f"a run: {report['carried']} items carried over, {report['compared']} compared, clean; {streams[0].records} records of the stream")
    set_aside(aws, deployed, machine, streams, keyfold)
    moved = operate(machine, streams, command="switch", writers="attested")
    assert moved["success"] and moved["phase"] == "reversed", moved
    print(f"switched by the deployed operator: writers were stopped for {moved['pausedMilliseconds']} ms")
    found = asked(aws, deployed, "POST /query", {"table": "audit", "where": {"accessedBy": "u3"}, "limit": 100})
    wanted = len([number for number in range(1, ITEMS + 20) if number % 11 == 3])
    assert found["count"] == wanted, found
    audited = {"id": "new", "resourceId": "r1", "action": "deleted", "accessedBy": "u3", "timestamp": "2017-04-01T08:00:00Z"}
    asked(aws, deployed, "POST /audit", audited)
    assert asked(aws, deployed, "POST /query", {"table": "audit", "where": {"accessedBy": "u3", "action": "deleted"}})["count"] == 1
    print(f"the API: {wanted} items of an index, and an event that the audit writer wrote")
    ended = operate(machine, streams, command="finish")
    assert ended["success"] and ended["phase"] == "finalised", ended
    print("finished by the deployed operator")
    assert not deployed.denied() and not machine.role.denied, (deployed.denied(), machine.role.denied)
    print(f"nothing was denied; rights that were needed: {({name: len(role.used) for name, role in deployed.roles.items()})}")
    another_manifest(deployed, log)
    # Without a right.
    arn = deployed.arn("QueryApiFunction")
    crippled = deployed.start(arn, Role(deployed.roles["QueryApiFunction"].statements).without("AskIndexes"))
    answer = crippled.invoke(request("POST /query", {"table": "audit", "where": {"accessedBy": "u3"}}))
    crippled.process.kill()
    assert answer["statusCode"] == 502 and deployed.roles["QueryApiFunction"].denied, answer
    print("without the right AskIndexes: 502, and denied", sorted(deployed.roles["QueryApiFunction"].denied)[0][0])
    deployed.end()


def upgraded(aws, deployed, template, machine, dynamo):
    """The functions' code is replaced in mid-retrofit, as docs/day-to-day.md has it: mapping, tables and finished segments stay."""
    machine.slices_max = 1
    try:
        machine.run()
        sys.exit("the run was not stopped")
    except Failed as failed:
        assert failed.error == "States.ExceedToleratedFailureThreshold", failed.error
    machine.slices_max = None
    shas = lambda: {name: aws("lambda").get_function_configuration(FunctionName=arn)["CodeSha256"] for arn, (name, *_) in deployed.functions.items()}
    mappings = lambda: {one["UUID"]: one["State"] for one in aws("lambda").list_event_source_mappings()["EventSourceMappings"]}
    before = (aws.stack(), mappings(), shas())
    aws.put("next.zip", zipped("bootstrap", b"the next version"))
    for one in template["Resources"].values():
        if one["Type"] == "AWS::Lambda::Function":
            one["Properties"]["Code"] = {"S3Bucket": "packages", "S3Key": "next.zip"}
    deploy(aws, template, FOLLOWED)
    after = (aws.stack(), mappings(), shas())
    assert after[:2] == before[:2], "a resource or a mapping was replaced"
    assert all(after[2][name] != sha for name, sha in before[2].items()), "a function has the code of before"
    dynamo.put_item(TableName="ResourceAccessAudit", Item=event(1, resourceId="changed meanwhile"))
    deployed.replace()
    print(f"an upgrade in mid-retrofit: {len(before[2])} functions with other code, and the same {len(before[1])} mappings")


def set_aside(aws, deployed, machine, streams, keyfold):
    """Two batches that Lambda set aside. The notice of one is refused, and of the other there is none; both keep the switch closed until they were
    read again."""
    bucket, stream = aws.stack()["AuditV2FailureBucket"], streams[0].arn
    # Its policy wants TLS, which the simulation has not.
    aws("s3").delete_bucket_policy(Bucket=bucket)
    for key, item in (("refused", "e0005"), ("unknown", "e0006")):
        records = [{"eventSourceARN": stream, "dynamodb": {"Keys": {"id": {"S": item}}, "SequenceNumber": "1"}}]
        aws("s3").put_object(Bucket=bucket, Key=key, Body=json.dumps({"payload": {"Records": records}}))
    refused_notice(deployed, keyfold, bucket)
    try:
        machine.run(operation={"command": "switch", "writers": "attested"})
        sys.exit("a switch was not refused")
    except Failed as failed:
        assert failed.error == "Keyfold.OperationFailed" and "quarantine" in failed.cause, (failed.error, failed.cause)
    entries = keyfold("retrofit", "quarantine", "auditV2")
    assert all(f"s3://{bucket}/{key}" in entries for key in ("refused", "unknown")), entries
    print(keyfold("retrofit", "quarantine", "auditV2", "--retry"))
    assert "Contents" not in aws("s3").list_objects_v2(Bucket=bucket), "a batch that was read again is there still"
    print("a batch without notice: found by the next run, which does not switch; read again, and deleted")


def refused_notice(deployed, keyfold, bucket):
    """The notice of a batch that was set aside, refused at first by the control table: it comes back from its queue."""
    arn = deployed.arn("AuditV2ReplicatorFunction")
    detail = {"bucket": {"name": bucket}, "object": {"key": "refused"}}
    notice = {"source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    role = deployed.roles["AuditV2ReplicatorFunction"]
    denied = deployed.start(arn, role.without("KeepRowsAndQuarantine"))
    try:
        denied.invoke(notice)
        sys.exit("the notice was not refused")
    except Failed as failed:
        assert failed.error == "Keyfold.AccessDenied", failed
    denied.process.kill()
    deployed.roles["AuditV2ReplicatorFunction"] = role
    destination = deployed.aws("lambda").get_function_event_invoke_config(FunctionName=arn)["DestinationConfig"]["OnFailure"]["Destination"]
    (mapping,) = deployed.aws("lambda").list_event_source_mappings(EventSourceArn=destination)["EventSourceMappings"]
    for action in ("sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
        assert role.allows(action, destination), action
    body = json.dumps({"version": "1.0", "requestPayload": notice})
    deployed.invoke(mapping["FunctionArn"], {"Records": [{"messageId": "1", "eventSource": "aws:sqs", "body": body}]})
    assert f"s3://{bucket}/refused" in keyfold("retrofit", "quarantine", "auditV2"), "the quarantine does not know the batch"
    print("a notice that was refused: back from its queue, and in the quarantine")


def another_manifest(deployed, log):
    """A function that finds another manifest than the deployment's does not start, and says so."""
    function = deployed.start(deployed.arn("QueryApiFunction"), remark="# another\n")
    assert function.process.wait(WAIT_SECONDS) != 0
    log.flush()
    assert "has the SHA-256" in pathlib.Path(log.name).read_text(), "it did not say why"
    print("another manifest: the function does not start, and says why")


def main(binaries):
    aws = Aws(19313)
    aws.empty()
    with tempfile.TemporaryDirectory() as temporary, open(f"{temporary}/log", "w") as log:
        folder = pathlib.Path(temporary)
        (folder / "local.toml").write_text(without_retrofits(pathlib.Path(MANIFEST).read_text()))
        words = ["--manifest", folder / "local.toml", "local", "--port", str(PORT), "--api-port", str(API)]
        server = subprocess.Popen([binaries / "keyfold", *words], stdout=log, stderr=log)
        environment = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{PORT}", "KEYFOLD_WAITS": "in-flight=0,lag=0",
                       "AWS_ENDPOINT_URL_S3": aws.url}

        def keyfold(*words):
            done = subprocess.run([binaries / "keyfold", *words], env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
            return done.stdout.strip()

        try:
            time.sleep(2)
            play(aws, binaries, keyfold, folder, log)
        except BaseException:
            log.flush()
            print(pathlib.Path(log.name).read_text()[-4000:])
            raise
        finally:
            server.kill()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
