"""Updates a deployed stack in a simulated AWS (moto), as its manifest and its parameters change, and asks after each update what callers
reach: one more index, another scope, a second retrofit, a stream that is followed and not, and a table's key, which must be refused
before anything is lost.

Usage: python tests/deployment/updates.py KEYFOLD
"""

import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from moto.awslambda.utils import get_backend

from deploy import generated, packed, read_back
from simulated import REFUSED, Aws, deploy

SAMPLE = pathlib.Path("keyfold.toml").read_text()
INDEX = '\n[tables.audit.indexes.byDay]\npartition = "timestamp"\nsort = "id"\nprojection = "keys-only"\nallow = ["hot-partition"]\n'

SECOND = """
[tables.audit-v3]
name = "ResourceAccessAuditV3"
partition = "accessedBy"
sort = "id"
attributes = { id = "string", accessedBy = "string" }

[retrofits.auditV3]
from = "audit-legacy"
to = "audit-v3"
"""


class Stack:
    def __init__(self, keyfold, aws):
        self.keyfold, self.aws, self.folder = keyfold, aws, tempfile.TemporaryDirectory()

    def manifest(self, text):
        path = pathlib.Path(self.folder.name) / "keyfold.toml"
        path.write_text(text)
        return str(path)

    def update(self, text, **parameters):
        """Creates or updates the stack; callers must reach this manifest and these parameters then."""
        template = packed(self.aws, self.keyfold, self.manifest(text))
        deploy(self.aws, template, parameters)
        read_back(self.aws, template, parameters)
        for route in ("POST /query", "POST /audit"):
            environment, manifest = reached(self.aws, route)
            assert manifest == text, f"{route} reaches another manifest"
            assert environment["KEYFOLD_MANIFEST_DIGEST"] == hashlib.sha256(text.encode()).hexdigest(), f"{route} would not start"
        environment, _ = reached(self.aws, "POST /query")
        assert environment["KEYFOLD_READ_SCOPE"] == parameters.get("ReadScope", ""), environment
        assert environment["KEYFOLD_READ_UNITS_MAX"] == parameters.get("ReadUnitsMax", "500"), environment
        assert environment.get("KEYFOLD_CALLER_UNITS_PER_DAY") == parameters.get("CallerUnitsPerDay"), environment
        return template

    def mappings(self):
        """The mappings of streams, by retrofit."""
        found = self.aws("lambda").list_event_source_mappings()["EventSourceMappings"]
        streams = [mapping for mapping in found if ":dynamodb:" in mapping["EventSourceArn"]]
        return {mapping["FunctionArn"].split("keyfold-")[1].split("Replicator")[0]: mapping for mapping in streams}

    def item_is_there(self):
        found = self.aws("dynamodb").get_item(TableName="ResourceAccessAuditV2", Key={"id": {"S": "kept"}})
        assert "Item" in found, "the table was replaced"

    def check(self, template, text):
        """`keyfold template --check` of what is deployed, against what the manifest would deploy."""
        path = pathlib.Path(self.folder.name) / "deployed.yaml"
        path.write_text(template)
        command = [self.keyfold, "--manifest", self.manifest(text), "template", "--check", str(path)]
        return subprocess.run(command, capture_output=True, text=True)


def reached(aws, route):
    """Environment and manifest of what answers a route: through its integration, the alias if it names one, and the layers."""
    gateway, stack = aws("apigatewayv2"), aws.stack()
    routes = gateway.get_routes(ApiId=stack["HttpApi"])["Items"]
    target = next(one["Target"] for one in routes if one["RouteKey"] == route).removeprefix("integrations/")
    function = gateway.get_integration(ApiId=stack["HttpApi"], IntegrationId=target)["IntegrationUri"]
    found = aws("lambda").get_function_configuration(FunctionName=function)
    return found["Environment"]["Variables"], manifest_of(aws, found["Layers"][0]["Arn"])


def manifest_of(aws, layer):
    """The manifest in a version of the layer. moto does not say where it lies, so its backend is asked."""
    content = get_backend("123456789012", "us-east-1").layers_versions_by_arn(layer).content
    body = aws("s3").get_object(Bucket=content["S3Bucket"], Key=content["S3Key"])["Body"].read()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return archive.read("keyfold.toml").decode()


def kept(before, after):
    """Everything that was there is there still, under the same name. A layer's versions are never changed: a new one takes their place."""
    assert {name: after.get(name) for name in before if not name.startswith("ManifestLayer")} == {
        name: identity for name, identity in before.items() if not name.startswith("ManifestLayer")
    }, "a resource was replaced"


def main(keyfold):
    aws = Aws(19312)
    aws.empty()
    stack = Stack(keyfold, aws)
    stack.update(SAMPLE)
    aws("dynamodb").put_item(TableName="ResourceAccessAuditV2", Item={"id": {"S": "kept"}})
    before = aws.stack()

    indexed = SAMPLE + INDEX
    stack.update(indexed)
    stack.item_is_there()
    kept(before, aws.stack())
    print("one more index: callers reach the new manifest, and nothing else has changed")
    for changed in ({"ReadScope": "audit/read"}, {"ReadScope": "audit/read", "CallerUnitsPerDay": "1000"}, {"ReadUnitsMax": "50"}, {}):
        stack.update(indexed, **changed)
        print(f"{changed or 'the defaults'}: callers reach them")

    both = indexed.replace('retrofits = ["auditV2"]', 'retrofits = ["auditV2", "auditV3"]') + SECOND
    stack.update(both)
    after = aws.stack()
    kept(before, after)
    new = sorted(name for name in after.keys() - before.keys() if name.endswith("Function"))
    assert new == [f"AuditV3{name}Function" for name in ("Backfiller", "Operator", "Replicator", "Verifier")], new
    stack.item_is_there()
    print("a second retrofit: four functions more, and the first one's are the same")

    uuids = {name: mapping["UUID"] for name, mapping in stack.mappings().items()}
    assert len(uuids) == 2, uuids
    for follows in ("true", "false"):
        stack.update(both, AuditV2FollowStream=follows)
        found = stack.mappings()
        assert {name: mapping["UUID"] for name, mapping in found.items()} == uuids
        states = {name: mapping["State"] for name, mapping in found.items()}
        assert states == {"AuditV2": "Enabled" if follows == "true" else "Disabled", "AuditV3": "Disabled"}, states
    print("the stream followed, and not followed: always the same mapping")

    # In CloudFormation another key means another table. A table with an explicit name is not replaced but refused.
    turned = both.replace('name = "ResourceAccessAuditV2"\npartition = "id"', 'name = "ResourceAccessAuditV2"\npartition = "resourceId"\nsort = "id"')
    assert turned != both
    done = stack.check(generated(keyfold, stack.manifest(both)), turned)
    assert done.returncode == 1 and "`AuditTable.Properties.KeySchema" in done.stderr and "replaces the table by an empty one" in done.stderr, done.stderr
    new = packed(aws, keyfold, stack.manifest(turned))
    for name, table in new["Resources"].items():
        # What callers have used up is nothing to keep.
        if table["Type"] == "AWS::DynamoDB::Table" and name != "CallerTable":
            assert table["UpdateReplacePolicy"] == "Retain" and table["DeletionPolicy"] == "RetainExceptOnCreate", name
            assert "TableName" in table["Properties"], f"{name} would be replaced"
    try:
        stack.update(turned)
        sys.exit("another key was not refused")
    except (ResponseParserError, ClientError):
        # The simulation answers a refusal with no words that could be read.
        assert set(REFUSED) == {"ResourceAccessAuditV2"}, REFUSED
    stack.item_is_there()
    two = indexed + INDEX.replace("byDay", "byDayToo")
    stages = subprocess.run([keyfold, "--json", "--manifest", stack.manifest(two), "template", "--stages"], capture_output=True, text=True)
    assert len(json.loads(stages.stdout)) == 5, stages.stdout
    print("another key: told by `keyfold template --check` of what is deployed, refused, and the items are there")


if __name__ == "__main__":
    main(sys.argv[1])
