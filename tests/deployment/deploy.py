"""Deploys generated templates into a simulated AWS (moto), every resource of them, and reads back what is there.

Usage: python tests/deployment/deploy.py KEYFOLD MANIFEST...
Each manifest is generated with KEYFOLD, translated as SAM does it, and deployed with several combinations of parameters. A table with
`managed = false` is made beforehand, as a user has it.
"""

import json
import logging
import pathlib
import subprocess
import sys
import tempfile

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
    seen = {"resources": 0, "tables": 0, "indexes": 0, "functions": 0, "mappings": 0, "alarms": 0, "routes": 0, "machines": 0}
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
        statements = {statement["Sid"]: statement for statement in aws.policies(found["Role"].rsplit("/", 1)[1])}
        assert ("UseTheKey" in statements) == bool(parameters.get("KmsKeyArn")), name
        assert "UseTheKey" not in statements or "kms:ViaService" in str(statements["UseTheKey"]["Condition"]), name
        assert ("AttachToTheVpc" in statements) == bool(parameters.get("SubnetIds")), name
        subnets = found.get("VpcConfig", {}).get("SubnetIds", [])
        assert subnets == [subnet for subnet in parameters.get("SubnetIds", "").split(",") if subnet], (name, subnets)
        layers = [layer["Arn"] for layer in found["Layers"]]
        assert len(layers) == 1 and layers[0] == physical[next(of for of in physical if of.startswith("ManifestLayer"))], (name, layers)
        seen["functions"] += 1
    for name in of_type("AWS::Lambda::EventSourceMapping"):
        mappings = aws("lambda").list_event_source_mappings()["EventSourceMappings"]
        seen["mappings"] = len(mappings)
        for mapping in mappings:
            if ":dynamodb:" in mapping["EventSourceArn"]:
                table = mapping["EventSourceArn"].split("/")[1]
                stream = aws("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
                assert mapping["EventSourceArn"] == stream and mapping["StartingPosition"] == "TRIM_HORIZON", mapping
    for name in of_type("AWS::IAM::Role"):
        role = aws("iam").get_role(RoleName=physical[name])["Role"]
        assert role["Path"] == parameters.get("RolePath", "/"), role
        boundary = role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")
        assert boundary == parameters.get("PermissionsBoundary"), (name, boundary)
    pages = aws("cloudwatch").get_paginator("describe_alarms").paginate()
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
    seen["alarms"] = len(alarms)
    assert seen["alarms"] == len([name for name in of_type("AWS::CloudWatch::Alarm") if name in physical])
    for alarm in alarms:
        quiet = alarm["AlarmDescription"].startswith("Severity 3")
        assert bool(alarm["AlarmActions"]) != quiet and bool(alarm["OKActions"]) == (not quiet and "TellRecovery" in parameters), alarm
        assert "docs/runbooks.md#" in alarm["AlarmDescription"], alarm
    for name in of_type("AWS::Lambda::EventInvokeConfig"):
        # A notice of a lost batch that is refused waits in a queue, and comes back from there.
        retrofit = name.removesuffix("ReplicatorCalls")
        function = physical[f"{retrofit}ReplicatorFunction"]
        queue = aws("sqs").get_queue_attributes(QueueUrl=physical[f"{retrofit}UnnotedBatches"], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        calls = aws("lambda").get_function_event_invoke_config(FunctionName=function)
        assert calls["DestinationConfig"]["OnFailure"]["Destination"] == queue, calls
        mapped = aws("lambda").list_event_source_mappings(EventSourceArn=queue)["EventSourceMappings"]
        assert [mapping["FunctionArn"].rsplit(":", 1)[1] for mapping in mapped] == [function], mapped
    if "HttpApi" in physical:
        seen["routes"] = read_routes(aws, physical, parameters)
    for machine in aws("stepfunctions").list_state_machines()["stateMachines"]:
        definition = aws("stepfunctions").describe_state_machine(stateMachineArn=machine["stateMachineArn"])["definition"]
        assert "arn:aws:states" in definition and json.loads(definition)["StartAt"], machine
        seen["machines"] += 1
    return seen


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
        assert "apigateway.amazonaws.com" in policy, policy
    return len(routes)


def main(keyfold, manifests):
    aws = Aws(19310)
    for manifest in manifests:
        for given in COMBINATIONS:
            aws.empty()
            template = packed(aws, keyfold, manifest)
            parameters = {**given, **made_beforehand(aws, template)}
            deploy(aws, template, parameters)
            seen = read_back(aws, template, parameters)
        print(f"{manifest}: {', '.join(f'{count} {what}' for what, count in seen.items())}")
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
