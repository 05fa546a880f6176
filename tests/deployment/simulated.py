"""A simulated AWS (moto) that makes every resource of a generated template, and CloudFormation's part in it.

moto makes some types from a template; `ADDED` has the others, each with the operation of its service that makes it. Parameters and
conditions are worked out here: moto looks at neither when it decides what an update changes.
"""

import ast
import io
import json
import logging
import os
import re
import urllib.request
import zipfile

os.environ.update(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_DEFAULT_REGION="us-east-1", SAM_CLI_TELEMETRY="0")
import boto3
from moto.awslambda.models import LambdaBackend, LambdaFunction, LayerVersion, Permission
from moto.cloudformation import parsing
from moto.core.common_models import CloudFormationModel
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.iam.models import Role
from moto.server import ThreadedMotoServer
from moto.stepfunctions.models import StateMachine

logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
# moto runs no function: without this, each change of a table with a mapping, enabled or not, looks for Docker.
LambdaBackend.send_dynamodb_items = lambda *_, **__: True
REGION, ACCOUNT = "us-east-1", "123456789012"
PSEUDO = {"AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com"}
NO_VALUE = object()
CUSTOM_NAME = "CloudFormation cannot update a stack when a custom-named resource requires replacing"
CALLS = {}


def lower_first(value):
    """`LogGroupName` as `logGroupName`: the operations of CloudWatch Logs."""
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: lower_first(part) for name, part in value.items()}
    return [lower_first(part) for part in value] if isinstance(value, list) else value


def secret(client, name, properties):
    generate = properties["GenerateSecretString"]
    text = client.get_random_password(PasswordLength=generate["PasswordLength"], ExcludePunctuation=generate["ExcludePunctuation"])["RandomPassword"]
    made = {**json.loads(generate["SecretStringTemplate"]), generate["GenerateStringKey"]: text}
    return client.create_secret(Name=name, SecretString=json.dumps(made))["ARN"], {}


def alarm(client, name, properties):
    client.put_metric_alarm(AlarmName=name, **properties)
    return name, {"Arn": client.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["AlarmArn"]}


def api(client, name, properties):
    made = client.create_api(**properties)
    return made["ApiId"], {"ApiEndpoint": made["ApiEndpoint"], "ApiId": made["ApiId"]}


def bucket_policy(client, name, properties):
    client.put_bucket_policy(Bucket=properties["Bucket"], Policy=json.dumps(properties["PolicyDocument"]))
    return name, {}


def queue_policy(client, name, properties):
    for queue in properties["Queues"]:
        client.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(properties["PolicyDocument"])})
    return name, {}


def metric_filter(client, name, properties):
    properties = lower_first(properties)
    for transformation in properties["metricTransformations"]:
        transformation["metricValue"] = str(transformation["metricValue"])
    client.put_metric_filter(filterName=name, **properties)
    return name, {}


def calls(client, name, properties):
    client.put_function_event_invoke_config(**properties)
    return name, {}


def made_by(operation, identity):
    return lambda client, name, properties: (getattr(client, operation)(**properties)[identity], {})


ADDED = {
    "AWS::ApiGatewayV2::Api": ("apigatewayv2", api),
    "AWS::ApiGatewayV2::Authorizer": ("apigatewayv2", made_by("create_authorizer", "AuthorizerId")),
    "AWS::ApiGatewayV2::Integration": ("apigatewayv2", made_by("create_integration", "IntegrationId")),
    "AWS::ApiGatewayV2::Route": ("apigatewayv2", made_by("create_route", "RouteId")),
    "AWS::ApiGatewayV2::Stage": ("apigatewayv2", made_by("create_stage", "StageName")),
    "AWS::CloudWatch::Alarm": ("cloudwatch", alarm),
    "AWS::Lambda::EventInvokeConfig": ("lambda", calls),
    "AWS::Logs::MetricFilter": ("logs", metric_filter),
    "AWS::S3::BucketPolicy": ("s3", bucket_policy),
    "AWS::SNS::Subscription": ("sns", made_by("subscribe", "SubscriptionArn")),
    "AWS::SQS::QueuePolicy": ("sqs", queue_policy),
    "AWS::SecretsManager::Secret": ("secretsmanager", secret),
}


class Added:
    """A resource that an operation of its service makes."""

    def __init__(self, identity, attributes):
        self.identity, self.attributes = identity, attributes

    @property
    def physical_resource_id(self):
        return self.identity

    @staticmethod
    def cloudformation_name_type():
        return None

    @classmethod
    def has_cfn_attr(cls, attr):
        return True

    def get_cfn_attribute(self, name):
        return self.attributes[name]

    @classmethod
    def create_from_cloudformation_json(cls, resource_name, cloudformation_json, account_id, region_name, **_):
        service, make = ADDED[cls.KIND]
        return cls(*make(CALLS["aws"](service), resource_name, cloudformation_json.get("Properties", {})))

    @classmethod
    def update_from_cloudformation_json(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
        """In its place: what `put` makes is put again, and the API's parts have an operation."""
        service, make = ADDED[cls.KIND]
        properties, client = cloudformation_json.get("Properties", {}), CALLS["aws"](service)
        if service == "apigatewayv2":
            part = cls.KIND.rsplit("::", 1)[1]
            identity = {"StageName" if part == "Stage" else f"{part}Id": original_resource.identity}
            getattr(client, f"update_{part.lower()}")(**{**properties, **identity})
            return original_resource
        return cls(*make(client, original_resource.identity, properties))

    @classmethod
    def delete_from_cloudformation_json(cls, resource_name, *_, **__):
        # The only one that an update takes away.
        if cls.KIND == "AWS::CloudWatch::Alarm":
            CALLS["aws"]("cloudwatch").delete_alarms(AlarmNames=[resource_name])

    def is_created(self):
        return True


def added(kind):
    """moto looks for direct subclasses, and sorts them by their module."""
    own = {"KIND": kind, "cloudformation_type": staticmethod(lambda: kind), "__module__": "moto.keyfold"}
    return type(CloudFormationModel)(kind.replace("::", ""), (Added, CloudFormationModel), own)


MODELS = {kind: added(kind) for kind in ADDED}
parsing.get_model_map.cache_clear()
parsing.get_name_type_map.cache_clear()


def create_function(resource_name, cloudformation_json, account_id, region_name, **_):
    """moto leaves most properties out."""
    properties = cloudformation_json["Properties"]
    return LambdaBackend_of(account_id, region_name).create_function({**properties, "FunctionName": resource_name})


def update_function(original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    properties = cloudformation_json["Properties"]
    original_resource.update_configuration(properties)
    original_resource.update_function_code(properties["Code"])
    return original_resource


def LambdaBackend_of(account_id, region_name):
    from moto.awslambda.utils import get_backend

    return get_backend(account_id, region_name)


def update_role(original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    """moto leaves the policies as they were."""
    for policy in cloudformation_json["Properties"]["Policies"]:
        document = json.dumps(policy["PolicyDocument"])
        CALLS["aws"]("iam").put_role_policy(RoleName=original_resource.name, PolicyName=policy["PolicyName"], PolicyDocument=document)
    return original_resource


def create_machine(resource_name, cloudformation_json, account_id, region_name, **_):
    """As CloudFormation: the definition comes from the bucket, and its gaps are filled."""
    from moto.stepfunctions.models import stepfunctions_backends

    properties = cloudformation_json["Properties"]
    arguments = properties["StateMachineName"], machine_definition(properties), properties["RoleArn"]
    return stepfunctions_backends[account_id][region_name].create_state_machine(*arguments, tags=[])


def update_machine(original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    from moto.stepfunctions.models import stepfunctions_backends

    properties = cloudformation_json["Properties"]
    backend = stepfunctions_backends[account_id][region_name]
    return backend.update_state_machine(original_resource.arn, definition=machine_definition(properties), role_arn=properties["RoleArn"])


def machine_definition(properties):
    place = properties["DefinitionS3Location"]
    text = CALLS["aws"]("s3").get_object(Bucket=place["Bucket"], Key=place["Key"])["Body"].read().decode()
    for name, value in properties["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", value)
    left = re.findall(r"\$\{\w+\}", text)
    assert not left, f"the state machine has gaps that the template does not fill: {left}"
    return text


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


def told(change):
    """moto answers an error in a resource with no words: it is said here."""

    def changed(logical_id, *arguments, **named):
        try:
            return change(logical_id, *arguments, **named)
        except Exception as error:
            print(f"    {logical_id}: {type(error).__name__}: {error}")
            raise

    return changed


REFUSED = []
parsing.parse_and_create_resource = told(parsing.parse_and_create_resource)
parsing.parse_and_update_resource = told(parsing.parse_and_update_resource)
Table.update_from_cloudformation_json = staticmethod(update_table)
# What `Ref` gives.
LayerVersion.physical_resource_id = property(lambda layer: layer.arn)
Permission.physical_resource_id = "permission"
LambdaFunction.create_from_cloudformation_json = staticmethod(create_function)
LambdaFunction.update_from_cloudformation_json = staticmethod(update_function)
Role.update_from_cloudformation_json = staticmethod(update_role)
StateMachine.create_from_cloudformation_json = staticmethod(create_machine)
StateMachine.update_from_cloudformation_json = staticmethod(update_machine)


class Aws:
    """The simulated services, at one address."""

    def __init__(self, port):
        self.server = ThreadedMotoServer(port=port, verbose=bool(os.environ.get("MOTO_VERBOSE")))
        self.server.start()
        self.url = f"http://127.0.0.1:{port}"
        self.clients = {}
        CALLS["aws"] = self

    def __call__(self, service):
        if service not in self.clients:
            self.clients[service] = boto3.client(service, endpoint_url=self.url, region_name=REGION)
        return self.clients[service]

    def empty(self):
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")).read()
        self("s3").create_bucket(Bucket="packages")
        self.put("package.zip", zipped("bootstrap", b""))

    def put(self, key, body):
        self("s3").put_object(Bucket="packages", Key=key, Body=body)

    def stack(self, name="keyfold"):
        """The physical resources, by their logical ids."""
        found = self("cloudformation").describe_stack_resources(StackName=name)["StackResources"]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if "PhysicalResourceId" in one}

    def policies(self, role):
        """All statements of a role that is deployed."""
        names = self("iam").list_role_policies(RoleName=role)["PolicyNames"]
        documents = [self("iam").get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
        # moto gives the document of a template as Python writes it.
        documents = [ast.literal_eval(document) if isinstance(document, str) else document for document in documents]
        return [statement for document in documents for statement in document["Statement"]]


def zipped(name, content):
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr(name, content)
    return package.getvalue()


class Resolved:
    """A template with its parameters and conditions worked out, as CloudFormation does it before it makes anything."""

    def __init__(self, template, given, stack="keyfold"):
        self.template = template
        self.values = {**PSEUDO, "AWS::StackName": stack}
        for name, parameter in template.get("Parameters", {}).items():
            value = given.get(name, parameter.get("Default"))
            assert value is not None, f"the parameter {name} has no value"
            allowed = parameter.get("AllowedValues")
            assert not allowed or str(value) in map(str, allowed), f"{name}: {value} is not allowed"
            if "AllowedPattern" in parameter:
                assert re.fullmatch(parameter["AllowedPattern"], value), f"{name}: {value} does not match"
            self.values[name] = value.split(",") if parameter["Type"] == "CommaDelimitedList" else self.number(parameter, value)
        self.check_rules()

    @staticmethod
    def number(parameter, value):
        if parameter["Type"] != "Number":
            return value
        number = int(value)
        assert parameter.get("MinValue", number) <= number <= parameter.get("MaxValue", number), f"{value} is out of range"
        return number

    def check_rules(self):
        for name, rule in self.template.get("Rules", {}).items():
            if "RuleCondition" in rule and not self.holds(rule["RuleCondition"]):
                continue
            for assertion in rule["Assertions"]:
                assert self.holds(assertion["Assert"]), assertion["AssertDescription"]

    def holds(self, condition):
        (function, parts), = condition.items()
        if function == "Condition":
            return self.holds(self.template["Conditions"][parts])
        if function == "Fn::Equals":
            left, right = (self.value(part) for part in parts)
            return str(left) == str(right)
        if function == "Fn::Contains":
            left, right = (self.value(part) for part in parts)
            return right in left
        held = [self.holds(part) for part in parts]
        return {"Fn::Not": lambda: not held[0], "Fn::And": lambda: all(held), "Fn::Or": lambda: any(held)}[function]()

    def value(self, node):
        if isinstance(node, list):
            return [value for value in map(self.value, node) if value is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if node == {"Ref": "AWS::NoValue"}:
            return NO_VALUE
        if "Ref" in node:
            return self.values.get(node["Ref"], node)
        if "Fn::If" in node:
            condition, then, otherwise = node["Fn::If"]
            return self.value(then if self.holds({"Condition": condition}) else otherwise)
        if isinstance(node.get("Fn::Sub"), str):
            known = lambda match: str(self.values.get(match[1], match[0]))
            text = re.sub(r"\$\{([\w:]+)\}", known, node["Fn::Sub"])
            return {"Fn::Sub": text} if "${" in text else text
        if "Fn::Join" in node and isinstance(parts := self.value(node["Fn::Join"][1]), list):
            between = node["Fn::Join"][0]
            return {"Fn::Join": [between, parts]} if any(isinstance(part, dict) for part in parts) else between.join(map(str, parts))
        worked = {name: self.value(part) for name, part in node.items()}
        return {name: value for name, value in worked.items() if value is not NO_VALUE}

    def body(self):
        resources = self.template["Resources"].items()
        there = {name: one for name, one in resources if "Condition" not in one or self.holds({"Condition": one["Condition"]})}
        made = {name: self.booleans({k: v for k, v in self.value(one).items() if k not in ("Condition", "Metadata")}) for name, one in there.items()}
        outputs = {name: self.value(one) for name, one in self.template.get("Outputs", {}).items()}
        return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": made, "Outputs": outputs})

    @staticmethod
    def booleans(resource):
        """CloudFormation makes booleans of texts, and texts of numbers."""
        properties = resource.get("Properties", {})
        for name in ("DeletionProtectionEnabled", "Enabled"):
            if name in properties:
                properties[name] = str(properties[name]).lower() == "true"
        variables = properties.get("Environment", {}).get("Variables", {})
        for name, value in variables.items():
            variables[name] = str(value) if isinstance(value, int) else value
        return resource


def deploy(aws, template, given, stack="keyfold"):
    """Creates or updates a stack of a template without SAM's part."""
    body = Resolved(template, given, stack).body()
    cloudformation = aws("cloudformation")
    there = [one["StackName"] for one in cloudformation.list_stacks()["StackSummaries"] if one["StackStatus"] != "DELETE_COMPLETE"]
    change = cloudformation.update_stack if stack in there else cloudformation.create_stack
    change(StackName=stack, TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
    wanted, made = set(json.loads(body)["Resources"]), set(aws.stack(stack))
    assert made >= wanted, f"not deployed: {sorted(wanted - made)}"
    return json.loads(body)
