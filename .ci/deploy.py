"""Deploys generated templates into a simulated AWS (moto), and reads back what is there.

Usage: python .ci/deploy.py KEYFOLD MANIFEST...
Each manifest is generated with KEYFOLD, translated as SAM does it, and deployed with several combinations of parameters. A table with
`managed = false` is made beforehand, as a user has it.
"""

import ast
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import zipfile

os.environ.update(
    AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_DEFAULT_REGION="us-east-1", SAM_CLI_TELEMETRY="0"
)
import boto3
from moto.awslambda.models import LambdaBackend
from moto.cloudformation.parsing import get_model_map
from moto.server import ThreadedMotoServer
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
logging.getLogger("samtranslator").setLevel(logging.ERROR)
# Functions are not run: without this, each change of a table with a mapping, enabled or not, looks for Docker.
LambdaBackend.send_dynamodb_items = lambda *_, **__: True
LACKING = set()
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
COMBINATIONS = [
    {},
    {"TablePrefix": "dev-", "KmsKeyArn": KEY, "AlarmEmail": "on-call@example.com", "DeletionProtection": "true"},
    {"Authorization": "jwt", "JwtIssuer": "https://issuer.example.com", "JwtAudience": "web", "CallerUnitsPerDay": "1000",
     "QueryApiConcurrency": "10", "ReplicatorConcurrency": "5", "SliceConcurrency": "50"},
    {"Authorization": "open", "CallerRequestsPerMinute": "60", "CallerClaim": "jwt.org"},
]


def generated(keyfold, manifest, *options):
    command = [keyfold, "--manifest", manifest, "template", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def translated(text, parameters):
    """What CloudFormation sees: SAM's part worked out, with packages that `sam deploy` would have uploaded."""
    template = yaml_parse(text)
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        for name in ("CodeUri", "ContentUri"):
            if name in properties:
                properties[name] = "s3://packages/package.zip"
        if "DefinitionUri" in properties:
            properties["Definition"] = json.loads(pathlib.Path(properties.pop("DefinitionUri")).read_text())
    return Translator({}, Parser()).translate(template, parameters)


class Aws:
    def __init__(self, port):
        self.server = ThreadedMotoServer(port=port, verbose=bool(os.environ.get("MOTO_VERBOSE")))
        self.server.start()
        self.url = f"http://127.0.0.1:{port}"

    def __call__(self, service):
        return boto3.client(service, endpoint_url=self.url)

    def empty(self):
        import urllib.request

        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")).read()
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("bootstrap", "")
        self("s3").create_bucket(Bucket="packages")
        self("s3").put_object(Bucket="packages", Key="package.zip", Body=package.getvalue())


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


def parameter_list(template, given):
    return [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items() if name in template["Parameters"]]


def keys(schema):
    return [(element["AttributeName"], element["KeyType"]) for element in schema]


def read_back(aws, text, parameters):
    """Compares what is there with the template, through the services' own APIs."""
    template, seen = yaml_parse(text), {"tables": 0, "indexes": 0, "functions": 0, "mappings": 0, "alarms": 0}
    prefix = parameters.get("TablePrefix", "")
    resources = aws("cloudformation").describe_stack_resources(StackName="keyfold")["StackResources"]
    physical = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources if "PhysicalResourceId" in resource}
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
    for name in of_type("AWS::Serverless::Function"):
        if name not in physical:
            continue
        found = aws("lambda").get_function_configuration(FunctionName=physical[name])
        environment = found["Environment"]["Variables"]
        names = dict(pair.split("=") for pair in environment["KEYFOLD_TABLES"].split(","))
        for table in names.values():
            aws("dynamodb").describe_table(TableName=table)
        assert environment["KEYFOLD_MANIFEST"] == "/opt/keyfold.toml"
        role = aws("iam").list_role_policies(RoleName=found["Role"].rsplit("/", 1)[1])["PolicyNames"]
        assert len(role) == 1, (name, role)
        document = aws("iam").get_role_policy(RoleName=found["Role"].rsplit("/", 1)[1], PolicyName=role[0])["PolicyDocument"]
        document = ast.literal_eval(document) if isinstance(document, str) else document
        kms = [s for s in document["Statement"] if isinstance(s, dict) and s["Sid"] == "UseTheKey"]
        assert bool(kms) == bool(parameters.get("KmsKeyArn")), (name, kms)
        seen["functions"] += 1
    for name in of_type("AWS::Lambda::EventSourceMapping"):
        mappings = aws("lambda").list_event_source_mappings()["EventSourceMappings"]
        seen["mappings"] = len(mappings)
        for mapping in mappings:
            if ":dynamodb:" in mapping["EventSourceArn"]:
                table = mapping["EventSourceArn"].split("/")[1]
                stream = aws("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
                assert mapping["EventSourceArn"] == stream and mapping["StartingPosition"] == "TRIM_HORIZON", mapping
    seen["alarms"] = len(aws("cloudwatch").describe_alarms(MaxRecords=100)["MetricAlarms"])
    assert seen["alarms"] == len([name for name in of_type("AWS::CloudWatch::Alarm") if name in physical])
    return seen


def simulated(template):
    """The template without the types that the simulation does not know, and without what points at them. It knows no aliases: what
    points at one points at its function."""
    text = json.dumps(template)
    for name in [name for name, resource in template["Resources"].items() if resource["Type"] == "AWS::Lambda::Alias"]:
        text = text.replace(json.dumps({"Ref": name}), json.dumps({"Ref": name.removesuffix("Aliaslive")}))
    template = json.loads(text)
    lacking = {name for name, resource in template["Resources"].items() if resource["Type"] not in get_model_map()}
    points = lambda part: any(f'"{name}' in (text := json.dumps(part)) or f"${{{name}" in text for name in lacking)
    while more := {name for name, r in template["Resources"].items() if name in lacking or points(r.get("Properties", {}))} - lacking:
        lacking |= more
    LACKING.update(template["Resources"][name]["Type"] for name in lacking)
    for section in ("Resources", "Outputs"):
        template[section] = {k: v for k, v in template[section].items() if k not in lacking and not (section == "Outputs" and points(v))}
    return template


def as_booleans(template, parameters):
    """The simulation keeps the text of a parameter where CloudFormation makes a boolean of it."""
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if isinstance(properties.get("DeletionProtectionEnabled"), dict):
            properties["DeletionProtectionEnabled"] = parameters.get("DeletionProtection") == "true"
    return template


def deploy(aws, text, parameters):
    body = json.dumps(as_booleans(simulated(translated(text, parameters)), parameters))
    arguments = dict(StackName="keyfold", TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
    aws("cloudformation").create_stack(Parameters=parameter_list(json.loads(body), parameters), **arguments)
    return arguments


def main(keyfold, manifests):
    aws = Aws(19310)
    for manifest in manifests:
        text = generated(keyfold, manifest)
        template = yaml_parse(text)
        for given in COMBINATIONS:
            if given and not set(given) & set(template["Parameters"]):
                continue
            aws.empty()
            parameters = {**given, **made_beforehand(aws, template)}
            deploy(aws, text, parameters)
            seen = read_back(aws, text, parameters)
        print(f"{manifest}: {', '.join(f'{count} {what}' for what, count in seen.items())}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
    print(f"not simulated, or pointing at what is not: {', '.join(sorted(LACKING))}")
