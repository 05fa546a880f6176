"""Updates a deployed stack in a simulated AWS (moto), as its manifest changes: one more index, a second retrofit, a stream that is
followed and not, and a table's key, which must be refused before anything is lost.

Usage: python .ci/updates.py KEYFOLD
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from botocore.parsers import ResponseParserError
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table

from deploy import Aws, as_booleans, generated, parameter_list, read_back, simulated, translated, yaml_parse

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
REFUSED = []
CUSTOM_NAME = "CloudFormation cannot update a stack when a custom-named resource requires replacing"


def update_table(original_resource, new_resource_name, cloudformation_json, account_id, region_name, **_):
    """moto has no update of a table. This is CloudFormation's: no other key for a table with a name of its own, one index at a time.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
    """
    table, wanted = original_resource, cloudformation_json["Properties"]
    if wanted["KeySchema"] != table.schema or len(wanted.get("LocalSecondaryIndexes", [])) != len(table.indexes):
        REFUSED.append(table.name)
        raise ValueError(CUSTOM_NAME)
    there = {index.name for index in table.global_indexes}
    new = [index for index in wanted.get("GlobalSecondaryIndexes", []) if index["IndexName"] not in there]
    gone = there - {index["IndexName"] for index in wanted.get("GlobalSecondaryIndexes", [])}
    if len(new) + len(gone) > 1:
        raise ValueError("Cannot perform more than one GSI creation or deletion in a single update")
    stream = wanted.get("StreamSpecification")
    backend = dynamodb_backends[account_id][region_name]
    changes = [{"Create": index} for index in new] + [{"Delete": {"IndexName": name}} for name in gone]
    if bool(stream) != bool(table.stream_specification and table.stream_specification.get("StreamEnabled")):
        backend.update_table_streams(table, {**(stream or {}), "StreamEnabled": bool(stream)})
    return backend.update_table(table.name, wanted["AttributeDefinitions"], changes, None, None, None, None, None)


Table.update_from_cloudformation_json = staticmethod(update_table)


class Stack:
    def __init__(self, keyfold, aws):
        self.keyfold, self.aws, self.folder = keyfold, aws, tempfile.TemporaryDirectory()

    def manifest(self, text):
        path = pathlib.Path(self.folder.name) / "keyfold.toml"
        path.write_text(text)
        return str(path)

    def body(self, template, parameters):
        body = as_booleans(simulated(translated(template, parameters)), parameters)
        for resource in body["Resources"].values():
            properties = resource.get("Properties", {})
            # moto cannot update a function that has a layer.
            properties.pop("Layers", None)
            # It sees a change of the template alone, not of a parameter: what the condition gives is put in.
            if isinstance(enabled := properties.get("Enabled"), dict):
                condition, then, otherwise = enabled["Fn::If"]
                parameter, wanted = body["Conditions"][condition]["Fn::Equals"]
                properties["Enabled"] = then if parameters.get(parameter["Ref"], "false") == wanted else otherwise
        return json.dumps(body)

    def create(self, text):
        template = generated(self.keyfold, self.manifest(text))
        self.aws("cloudformation").create_stack(StackName="keyfold", TemplateBody=self.body(template, {}), Capabilities=["CAPABILITY_IAM"])

    def update(self, text, **parameters):
        template = generated(self.keyfold, self.manifest(text))
        body = self.body(template, parameters)
        self.aws("cloudformation").update_stack(
            StackName="keyfold", TemplateBody=body, Capabilities=["CAPABILITY_IAM"], Parameters=parameter_list(json.loads(body), parameters)
        )
        read_back(self.aws, template, parameters)
        return template

    def physical(self):
        resources = self.aws("cloudformation").describe_stack_resources(StackName="keyfold")["StackResources"]
        return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources if "PhysicalResourceId" in resource}

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


def kept(before, after):
    """Everything that was there is there still, under the same name."""
    assert {name: after.get(name) for name in before} == before, "a resource was replaced"


def main(keyfold):
    aws = Aws(19312)
    aws.empty()
    stack = Stack(keyfold, aws)
    stack.create(SAMPLE)
    aws("dynamodb").put_item(TableName="ResourceAccessAuditV2", Item={"id": {"S": "kept"}})
    before = stack.physical()

    indexed = SAMPLE + INDEX
    template = stack.update(indexed)
    stack.item_is_there()
    kept(before, stack.physical())
    print("one more index: it is there, and nothing else has changed")

    both = indexed.replace('retrofits = ["auditV2"]', 'retrofits = ["auditV2", "auditV3"]') + SECOND
    template = stack.update(both)
    after = stack.physical()
    kept(before, after)
    new = sorted(name for name in after.keys() - before.keys() if name.endswith("Function"))
    assert new == ["AuditV3BackfillerFunction", "AuditV3ReplicatorFunction", "AuditV3VerifierFunction"], new
    stack.item_is_there()
    print("a second retrofit: three functions more, and the first one's are the same")

    uuids = {name: mapping["UUID"] for name, mapping in stack.mappings().items()}
    assert len(uuids) == 2, uuids
    for follows in ("true", "false"):
        stack.update(both, AuditV2FollowStream=follows)
        found = stack.mappings()
        assert {name: mapping["UUID"] for name, mapping in found.items()} == uuids
        states = {name: mapping["State"] for name, mapping in found.items()}
        assert states == {"AuditV2": "Enabled" if follows == "true" else "Disabled", "AuditV3": "Disabled"}, states
    print("the stream followed, and not followed: always the same mapping")

    # In CloudFormation another key means another table. A table with a name of its own is not replaced but refused.
    turned = both.replace('name = "ResourceAccessAuditV2"\npartition = "id"', 'name = "ResourceAccessAuditV2"\npartition = "resourceId"\nsort = "id"')
    assert turned != both
    done = stack.check(template, turned)
    assert done.returncode == 1 and "`AuditTable.Properties.KeySchema" in done.stderr and "replaces the table by an empty one" in done.stderr, done.stderr
    new = yaml_parse(generated(keyfold, stack.manifest(turned)))
    for name, table in new["Resources"].items():
        # What callers have used up is nothing to keep.
        if table["Type"] == "AWS::DynamoDB::Table" and name != "CallerTable":
            assert table["UpdateReplacePolicy"] == "Retain" and table["DeletionPolicy"] == "RetainExceptOnCreate", name
            assert "TableName" in table["Properties"], f"{name} would be replaced"
    try:
        stack.update(turned)
        sys.exit("another key was not refused")
    except ResponseParserError:
        # The simulation answers a refusal with no words that could be read.
        assert set(REFUSED) == {"ResourceAccessAuditV2"}, REFUSED
    stack.item_is_there()
    two = indexed + INDEX.replace("byDay", "byDayToo")
    stages = subprocess.run([keyfold, "--json", "--manifest", stack.manifest(two), "template", "--stages"], capture_output=True, text=True)
    assert len(json.loads(stages.stdout)) == 5, stages.stdout
    print("another key: told by `keyfold template --check` of what is deployed, refused, and the items are there")


if __name__ == "__main__":
    main(sys.argv[1])
