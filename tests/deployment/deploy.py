"""Deploys generated templates into a simulated AWS (moto), every resource of them, and reads back what is there.

Usage: python tests/deployment/deploy.py KEYFOLD MANIFEST...
Each manifest is generated with KEYFOLD, translated as SAM does it, and deployed with the defaults and with everything that can be set; the first
also with each combination of parameters alone. A table with
`managed = false` is made beforehand, as a user has it.
"""

import json
import logging
import pathlib
import subprocess
import sys
import tempfile

import alarms
from simulated import Aws, Resolved, deploy, zipped
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.getLogger("samtranslator").setLevel(logging.ERROR)
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
COMBINATIONS = [
    {},
    {"TablePrefix": "dev-", "KmsKeyArn": KEY, "KmsViaServices": "dynamodb.us-east-1.amazonaws.com,sqs.us-east-1.amazonaws.com",
     "AlarmEmail": "on-call@example.com", "DeletionProtection": "true", "TellRecovery": "true"},
    {"Authorization": "jwt", "JwtIssuer": "https://issuer.example.com", "JwtAudience": "web", "WriteScope": "write", "CallerUnitsPerDay": "1000",
     "QueryApiConcurrency": "10", "ReplicatorConcurrency": "5", "SliceConcurrency": "50"},
    # A company's account.
    {"PermissionsBoundary": "arn:aws:iam::123456789012:policy/company", "RolePath": "/company/keyfold/",
     "SubnetIds": "subnet-11111111,subnet-22222222", "SecurityGroupIds": "sg-11111111", "CallerRequestsPerMinute": "60", "CallerClaim": "jwt.org"},
]


# All of them at once.
EVERYTHING = {name: value for parameters in COMBINATIONS for name, value in parameters.items()}
# The resources that are read back, and their types: none may be left out.
COUNTED = {
    "tables": "AWS::DynamoDB::Table", "functions": "AWS::Lambda::Function", "mappings": "AWS::Lambda::EventSourceMapping", "alarms": "AWS::CloudWatch::Alarm",
    "routes": "AWS::ApiGatewayV2::Route", "notices": "AWS::Lambda::EventInvokeConfig", "machines": "AWS::StepFunctions::StateMachine",
}


def generated(keyfold, manifest, *options):
    command = [keyfold, "--manifest", manifest, "template", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def packed(aws, keyfold, manifest):
    """The template with what `sam deploy` uploads: the layer and the state machine that `keyfold template --out` writes beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "template.yaml"
        generated(keyfold, manifest, "--out", str(path))
        template = yaml_parse(path.read_text())
        for resource in template["Resources"].values():
            properties = resource.get("Properties", {})
            if "CodeUri" in properties:
                properties["CodeUri"] = "s3://packages/package.zip"
            if "ContentUri" in properties:
                files = [file for file in (path.parent / properties["ContentUri"]).iterdir()]
                assert [file.name for file in files] == ["keyfold.toml"], files
                key = properties["ContentUri"]
                aws.put(key, zipped("keyfold.toml", files[0].read_bytes()))
                properties["ContentUri"] = f"s3://packages/{key}"
            if "DefinitionUri" in properties:
                aws.put("machine.json", (path.parent / properties["DefinitionUri"]).read_bytes())
                properties["DefinitionUri"] = "s3://packages/machine.json"
        return Translator({}, Parser()).translate(template, {})


def existing(template):
    """The parameters that name tables outside the stack, and the tables' names."""
    tables = {name: parameter["Default"] for name, parameter in template["Parameters"].items() if name.endswith("TableName")}
    return {name: table for name, table in tables.items() if name != "ControlTableName"}


def made_beforehand(aws, template):
    """Makes the tables that exist outside the stack; the parameters that say where they are."""
    for table in existing(template).values():
        aws("dynamodb").create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
    return streams_of(aws, template)


def streams_of(aws, template):
    parameters = {}
    for name, table in existing(template).items():
        stream = name.removesuffix("TableName") + "StreamArn"
        if stream in template["Parameters"]:
            parameters[stream] = aws("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
    return parameters


def keys(schema):
    return [(element["AttributeName"], element["KeyType"]) for element in schema]


def read_back(aws, template, parameters):
    """Compares what is there with the template, through the services' own APIs."""
    seen = {"resources": 0, "tables": 0, "indexes": 0, "functions": 0, "mappings": 0, "alarms": 0, "routes": 0, "notices": 0, "machines": 0}
    prefix = parameters.get("TablePrefix", "")
    physical = aws.stack()
    seen["resources"] = len(physical)
    of_type = lambda kind: {k: v for k, v in template["Resources"].items() if v["Type"] == kind}
    for name, resource in of_type("AWS::DynamoDB::Table").items():
        if resource.get("Condition") and name not in physical:
            continue
        wanted = resource["Properties"]
        found = aws("dynamodb").describe_table(TableName=physical[name])["Table"]
        if "TableName" in wanted:
            plain = wanted["TableName"]["Fn::Sub"].replace("${TablePrefix}", prefix).replace("${ControlTableName}", "keyfold-control")
            assert found["TableName"] == plain, (found["TableName"], plain)
        assert keys(found["KeySchema"]) == keys(wanted["KeySchema"]), name
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            indexes = {index["IndexName"]: index for index in found.get(kind, [])}
            assert set(indexes) == {index["IndexName"] for index in wanted.get(kind, [])}, (name, kind)
            for index in wanted.get(kind, []):
                there = indexes[index["IndexName"]]
                assert keys(there["KeySchema"]) == keys(index["KeySchema"]), (name, index)
                assert there["Projection"] == index["Projection"], (name, index, there)
                seen["indexes"] += 1
        stream = found.get("StreamSpecification", {})
        assert ("StreamSpecification" in wanted) == stream.get("StreamEnabled", False), name
        seen["tables"] += 1
    names = {}
    for name in of_type("AWS::Lambda::Function"):
        if name not in physical:
            continue
        found = aws("lambda").get_function_configuration(FunctionName=physical[name])
        environment = found["Environment"]["Variables"]
        names = dict(pair.split("=") for pair in environment["KEYFOLD_TABLES"].split(","))
        for table in names.values():
            aws("dynamodb").describe_table(TableName=table)
        assert environment["KEYFOLD_MANIFEST"] == "/opt/keyfold.toml"
        wanted = template["Resources"][name]["Properties"]
        assert (found["MemorySize"], found["Timeout"]) == (wanted["MemorySize"], wanted["Timeout"]), found
        statements = {statement["Sid"]: statement for statement in aws.policies(found["Role"].rsplit("/", 1)[1])}
        assert ("UseTheKey" in statements) == bool(parameters.get("KmsKeyArn")), name
        assert "UseTheKey" not in statements or "kms:ViaService" in str(statements["UseTheKey"]["Condition"]), name
        assert ("AttachToTheVpc" in statements) == bool(parameters.get("SubnetIds")), name
        subnets = found.get("VpcConfig", {}).get("SubnetIds", [])
        assert subnets == [subnet for subnet in parameters.get("SubnetIds", "").split(",") if subnet], (name, subnets)
        layers = [layer["Arn"] for layer in found["Layers"]]
        assert len(layers) == 1 and layers[0] == physical[next(of for of in physical if of.startswith("ManifestLayer"))], (name, layers)
        seen["functions"] += 1
    failure_buckets = {f"arn:aws:s3:::{bucket}" for name, bucket in physical.items() if name.endswith("FailureBucket")}
    for name in of_type("AWS::Lambda::EventSourceMapping"):
        mappings = aws("lambda").list_event_source_mappings()["EventSourceMappings"]
        seen["mappings"] = len(mappings)
        for mapping in mappings:
            if ":dynamodb:" in mapping["EventSourceArn"]:
                table = mapping["EventSourceArn"].split("/")[1]
                stream = aws("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
                assert mapping["EventSourceArn"] == stream and mapping["StartingPosition"] == "TRIM_HORIZON", mapping
                assert mapping["DestinationConfig"]["OnFailure"]["Destination"] in failure_buckets, mapping
    for name in of_type("AWS::IAM::Role"):
        role = aws("iam").get_role(RoleName=physical[name])["Role"]
        assert role["Path"] == parameters.get("RolePath", "/"), role
        boundary = role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")
        assert boundary == parameters.get("PermissionsBoundary"), (name, boundary)
    pages = aws("cloudwatch").get_paginator("describe_alarms").paginate()
    found = [alarm for page in pages for alarm in page["MetricAlarms"]]
    seen["alarms"] = len(found)
    for alarm in found:
        quiet = alarm["AlarmDescription"].startswith("Severity 3")
        assert bool(alarm["AlarmActions"]) != quiet and bool(alarm["OKActions"]) == (not quiet and "TellRecovery" in parameters), alarm
        assert "docs/runbooks.md#" in alarm["AlarmDescription"], alarm
    for name in of_type("AWS::Lambda::EventInvokeConfig"):
        read_notices(aws, physical, name.removesuffix("ReplicatorCalls"))
        seen["notices"] += 1
    if "HttpApi" in physical:
        seen["routes"] = read_routes(aws, physical, parameters)
    for machine in aws("stepfunctions").list_state_machines()["stateMachines"]:
        definition = aws("stepfunctions").describe_state_machine(stateMachineArn=machine["stateMachineArn"])["definition"]
        assert "arn:aws:states" in definition and json.loads(definition)["StartAt"], machine
        seen["machines"] += 1
    for what, kind in COUNTED.items():
        assert seen[what] == len([name for name in of_type(kind) if name in physical]), (what, seen)
    return seen


def read_notices(aws, physical, retrofit):
    """The way of a notice that a batch was set aside: from the bucket over EventBridge to the replicator; if refused, into a queue and back."""
    bucket, function = physical[f"{retrofit}FailureBucket"], physical[f"{retrofit}ReplicatorFunction"]
    queue = aws("sqs").get_queue_attributes(QueueUrl=physical[f"{retrofit}UnnotedBatches"], AttributeNames=["QueueArn", "Policy"])["Attributes"]
    arn = aws("lambda").get_function_configuration(FunctionName=function)["FunctionArn"]
    rule = aws("events").describe_rule(Name=physical[f"{retrofit}BatchSetAside"])
    notice = lambda bucket: {"source": "aws.s3", "detail-type": "Object Created", "detail": {"bucket": {"name": bucket}, "object": {"key": "a"}}}
    pattern = json.loads(rule["EventPattern"])
    assert rule["State"] == "ENABLED" and matches(pattern, notice(bucket)) and not matches(pattern, notice("another")), rule
    (target,) = aws("events").list_targets_by_rule(Rule=rule["Name"])["Targets"]
    assert (target["Arn"], target["DeadLetterConfig"]["Arn"]) == (arn, queue["QueueArn"]), target
    may = json.loads(aws("lambda").get_policy(FunctionName=function)["Policy"])["Statement"]
    assert any(one["Principal"] == {"Service": "events.amazonaws.com"} and rule["Arn"] in str(one["Condition"]) for one in may), may
    (sent,) = [one for one in json.loads(queue["Policy"])["Statement"] if one["Effect"] == "Allow"]
    assert sent["Principal"] == {"Service": "events.amazonaws.com"} and sent["Action"] == "sqs:SendMessage", sent
    assert sent["Resource"] == queue["QueueArn"] and sent["Condition"] == {"ArnEquals": {"aws:SourceArn": rule["Arn"]}}, sent
    calls = aws("lambda").get_function_event_invoke_config(FunctionName=function)
    assert calls["DestinationConfig"]["OnFailure"]["Destination"] == queue["QueueArn"], calls
    mapped = aws("lambda").list_event_source_mappings(EventSourceArn=queue["QueueArn"])["EventSourceMappings"]
    assert [mapping["FunctionArn"] for mapping in mapped] == [arn], mapped


def matches(pattern, event):
    """EventBridge's patterns, as far as the template uses them."""
    return all(matches(part, event[name]) if isinstance(part, dict) else event[name] in part for name, part in pattern.items())


def read_routes(aws, physical, parameters):
    """Each route leads to a function of the stack, which the API may call, and asks who calls."""
    gateway, functions = aws("apigatewayv2"), {aws("lambda").get_function_configuration(FunctionName=physical[name])["FunctionArn"]
                                               for name in physical if name in ("QueryApiFunction", "AuditWriterFunction")}
    integrations = {one["IntegrationId"]: one["IntegrationUri"] for one in gateway.get_integrations(ApiId=physical["HttpApi"])["Items"]}
    assert set(integrations.values()) == functions, (integrations, functions)
    wanted = {"iam": "AWS_IAM", "jwt": "JWT", "open": "NONE"}[parameters.get("Authorization", "iam")]
    routes = gateway.get_routes(ApiId=physical["HttpApi"])["Items"]
    for route in routes:
        assert route["Target"].removeprefix("integrations/") in integrations and route["AuthorizationType"] == wanted, route
    for function in functions:
        policy = aws("lambda").get_policy(FunctionName=function)["Policy"]
        may = json.loads(policy)["Statement"]
        assert any(one["Principal"] == {"Service": "apigateway.amazonaws.com"} and physical["HttpApi"] in str(one["Condition"]) for one in may), may
    return len(routes)


def main(keyfold, manifests):
    aws = Aws(19310)
    for number, manifest in enumerate(manifests):
        for given in [*COMBINATIONS, EVERYTHING] if number == 0 else [{}, EVERYTHING]:
            aws.empty()
            template = packed(aws, keyfold, manifest)
            parameters = {**given, **made_beforehand(aws, template)}
            deploy(aws, template, parameters)
            seen = read_back(aws, template, parameters)
        print(f"{manifest}: {', '.join(f'{count} {what}' for what, count in seen.items())}")
    aws.empty()
    deploy(aws, packed(aws, keyfold, manifests[0]), {"AuditV2FollowStream": "true", "AuditV2FollowBack": "true"})
    alarms.check(aws)
    refuses(packed(aws, keyfold, manifests[0]), {"SubnetIds": "subnet-11111111"})
    refuses(packed(aws, keyfold, manifests[0]), {"Authorization": "jwt"})


def refuses(template, parameters):
    """The template's rules refuse these parameters."""
    try:
        Resolved(template, parameters)
    except AssertionError as refused:
        print(f"{parameters}: refused, {refused}")
        return
    sys.exit(f"{parameters} was not refused")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
