"""Harmful changes of the sample's template, and whether `keyfold template --check` notices each.

Usage: python tests/deployment/mutants.py KEYFOLD. Prints a table; fails if more than two pass.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TEMPLATE = pathlib.Path("template.yaml").read_text()
PASS_MAX = 2
# Where the operator's environment begins.
OPERATOR = "LogGroup: !Ref AuditV2OperatorLogs, LogFormat: JSON, ApplicationLogLevel: INFO, SystemLogLevel: INFO }\n      Environment:\n        Variables:\n"
# The consequence, the text, its replacement. The first place in the template is changed.
MUTANTS = [
    ("a function with another's rights", "Role: !GetAtt AuditV2BackfillerRole.Arn", "Role: !GetAtt AuditV2VerifierRole.Arn"),
    ("a right is missing", "dynamodb:PartiQLInsert, dynamodb:PutItem]\n                Resource: !GetAtt AuditTable.Arn",
     "dynamodb:PutItem]\n                Resource: !GetAtt AuditTable.Arn"),
    ("the backfiller may not scan", "dynamodb:DescribeTable, dynamodb:Scan]", "dynamodb:DescribeTable]"),
    ("the replicator follows another stream", "EventSourceArn: !GetAtt AuditLegacyTable.StreamArn", "EventSourceArn: !GetAtt AuditTable.StreamArn"),
    ("the replicator of another retrofit", "KEYFOLD_RETROFIT: auditV2", "KEYFOLD_RETROFIT: auditV3"),
    ("messages are shown while they are written", "VisibilityTimeout: 180", "VisibilityTimeout: 20"),
    ("records of the first minutes are missed", "StartingPosition: TRIM_HORIZON", "StartingPosition: LATEST"),
    ("good records are dropped with a bad one", "      BisectBatchOnFunctionError: true\n", ""),
    ("failed records are lost", "      FunctionResponseTypes: [ReportBatchItemFailures]\n", ""),
    ("records that match no filter are lost", "      BatchSize: 500\n", "      BatchSize: 500\n      FilterCriteria: { Filters: [] }\n"),
    ("a failing record blocks until it is lost", "MaximumRecordAgeInSeconds: !Ref RecordAgeSecondsMax", "MaximumRecordAgeInSeconds: -1"),
    ("a table with another key", "{ AttributeName: id, KeyType: HASH }", "{ AttributeName: key, KeyType: HASH }"),
    ("an index with another order", "{ AttributeName: action, KeyType: RANGE }\n            - { AttributeName: timestamp, KeyType: RANGE }",
     "{ AttributeName: timestamp, KeyType: RANGE }\n            - { AttributeName: action, KeyType: RANGE }"),
    ("an index without an attribute", "NonKeyAttributes: [accessedBy, resourceId]", "NonKeyAttributes: [accessedBy]"),
    ("a stream without images", "StreamViewType: NEW_AND_OLD_IMAGES", "StreamViewType: KEYS_ONLY"),
    ("tables go with the stack", "DeletionPolicy: RetainExceptOnCreate", "DeletionPolicy: Delete"),
    ("no backup", "PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false"),
    ("items expire", "KeySchema:\n", "TimeToLiveSpecification: { AttributeName: x, Enabled: true }\n      KeySchema:\n"),
    ("dead letters in the wrong queue", "deadLetterTargetArn: !GetAtt AuditDeadLetters.Arn", "deadLetterTargetArn: !GetAtt AuditFailedCalls.Arn"),
    ("a route that is open", "AuthorizationType: !If [ByIam, AWS_IAM, !If [ByJwt, JWT, NONE]]", "AuthorizationType: NONE"),
    ("another binary", "BuildProperties: { Binary: backfiller }", "BuildProperties: { Binary: verifier }"),
    ("the state machine calls another function", "BackfillerArn: !GetAtt AuditV2BackfillerFunction.Arn", "BackfillerArn: !GetAtt AuditV2VerifierFunction.Arn"),
    ("slices are cut off", "Timeout: 900", "Timeout: 3"),
    ("functions find no table", "KEYFOLD_TABLES: !Sub", "KEYFOLD_TABLE: !Sub"),
    ("notices of lost batches are refused", "  AuditV2BatchSetAsidePermission:", "  OfMyOwn:"),
    ("encryption turned round", 'HasKey: !Not [!Equals [!Ref KmsKeyArn, ""]]', 'HasKey: !Equals [!Ref KmsKeyArn, ""]'),
    ("lost batches cannot be written", 'Resource: !Sub "${AuditV2FailureBucket.Arn}/*"', "Resource: !GetAtt AuditV2FailureBucket.Arn"),
    ("an alarm that never goes off", "Threshold: 21600000", "Threshold: 2160000000000"),
    ("a function that is too small", "MemorySize: 1024", "MemorySize: 128"),
    ("batches that take too long", "      BatchSize: 500\n", "      BatchSize: 10000\n"),
    ("open to everybody by default", "Default: iam\n    AllowedValues: [iam, jwt, open]", "Default: open\n    AllowedValues: [iam, jwt, open]"),
    ("an inline policy of everything", "Resources:\n", """Resources:
  Everything:
    Type: AWS::IAM::Policy
    Properties: { PolicyName: all, Roles: [!Ref QueryApiRole], PolicyDocument: { Statement: [{ Effect: Allow, Action: "*", Resource: "*" }] } }
"""),
    ("a managed policy of everything", "      Policies:\n        - PolicyName: query-api", "      ManagedPolicyArns: [arn:aws:iam::aws:policy/AdministratorAccess]\n      Policies:\n        - PolicyName: query-api"),
    ("scripts start another machine", "    Value: !Ref AuditV2StateMachine\n", "    Value: !Ref AuditV2BackfillerFunction\n"),
    ("callers keep the manifest of the first day", "      CodeUri: functions/query-api\n", "      CodeUri: functions/query-api\n      AutoPublishAlias: live\n"),
    ("any manifest will do", re.search(r" *KEYFOLD_MANIFEST_DIGEST: .*\n", TEMPLATE)[0], ""),
    ("another manifest's layer", re.search(r"ContentUri: \.keyfold/manifest-\w+", TEMPLATE)[0], "ContentUri: .keyfold/manifest-000000000000"),
    ("a function that anybody may call", "Resources:\n", """Resources:
  Anybody:
    Type: AWS::Lambda::Permission
    Properties: { FunctionName: !Ref QueryApiFunction, Action: "lambda:InvokeFunction", Principal: "*" }
"""),
    ("a way round the API", "Resources:\n", "Resources:\n  Direct:\n    Type: AWS::Lambda::Url\n    Properties: { TargetFunctionArn: !Ref QueryApiFunction, AuthType: NONE }\n"),
    ("a route of nobody's", "Resources:\n", 'Resources:\n  More:\n    Type: AWS::ApiGatewayV2::Route\n    Properties: { ApiId: !Ref HttpApi, RouteKey: "$default", Target: !Sub "integrations/${QueryApiIntegration}" }\n'),
    ("nobody hears of server errors", "      MetricName: 5xx\n", "      MetricName: 4xx\n"),
    ("nobody hears of lost batches", "  AuditV2UnnotedAlarm:", "  OfMyOwn:"),
    ("refused notices are lost", "      DestinationConfig: { OnFailure: { Destination: !GetAtt AuditV2UnnotedBatches.Arn } }\n", ""),
    ("an alarm without message", "      AlarmActions: [!Ref AlarmTopic]\n", ""),
    ("audit events go with the stack", "  AuditQueue:\n    Type: AWS::SQS::Queue\n    DeletionPolicy: RetainExceptOnCreate", "  AuditQueue:\n    Type: AWS::SQS::Queue\n    DeletionPolicy: Delete"),
    ("a second reader of the stream", "Resources:\n", """Resources:
  Mine:
    Type: AWS::Lambda::EventSourceMapping
    Properties: { FunctionName: mine, EventSourceArn: !GetAtt AuditLegacyTable.StreamArn, StartingPosition: LATEST }
"""),
    ("the query API may scan", "Sid: AskTables\n                Effect: Allow\n                Action: dynamodb:Query", "Sid: AskTables\n                Effect: Allow\n                Action: [dynamodb:Query, dynamodb:Scan]"),
    ("requests may scan", 'KEYFOLD_ALLOW_SCAN: "0"', 'KEYFOLD_ALLOW_SCAN: "1"'),
    ("the scope is not asked for", "KEYFOLD_READ_SCOPE: !Ref ReadScope", 'KEYFOLD_READ_SCOPE: ""'),
    ("all tables anew", 'TablePrefix:\n    Type: String\n    Default: ""', 'TablePrefix:\n    Type: String\n    Default: "new-"'),
    ("the way back before its time", 'AuditV2FollowBack:\n    Type: String\n    Default: "false"', 'AuditV2FollowBack:\n    Type: String\n    Default: "true"'),
    ("requests that cost too much", "ReadUnitsMax:\n    Type: Number\n    Default: 500", "ReadUnitsMax:\n    Type: Number\n    Default: 5000000"),
    ("an alarm later than the stream's end", "Threshold: 21600000", "Threshold: 200000000"),
    ("a queue for everybody", "Resources:\n", """Resources:
  Everybody:
    Type: AWS::SQS::QueueInlinePolicy
    Properties: { Queue: !Ref AuditQueue, PolicyDocument: { Statement: [{ Effect: Allow, Principal: "*", Action: "sqs:*", Resource: "*" }] } }
"""),
    ("a layer for everybody", "Resources:\n", """Resources:
  Everybody:
    Type: AWS::Lambda::LayerVersionPermission
    Properties: { LayerVersionArn: !Ref ManifestLayer, Action: "lambda:GetLayerVersion", Principal: "*" }
"""),
    ("a table without throughput", "BillingMode: PAY_PER_REQUEST", "BillingMode: PROVISIONED"),
    # The operator and the state machine, which move the writers.
    ("the operator has no time", "Tidies, switches and finishes a retrofit\n      MemorySize: 1024\n      Timeout: 900",
     "Tidies, switches and finishes a retrofit\n      MemorySize: 1024\n      Timeout: 30"),
    ("the operator has the verifier's rights", "Role: !GetAtt AuditV2OperatorRole.Arn", "Role: !GetAtt AuditV2VerifierRole.Arn"),
    ("the operator cannot stop writers", "                  - dynamodb:PutResourcePolicy\n", ""),
    ("the operator sees one of two streams", "Resource: [!GetAtt AuditLegacyTable.StreamArn, !GetAtt AuditTable.StreamArn]", "Resource: [!GetAtt AuditLegacyTable.StreamArn]"),
    ("the operator may delete tables", "                  - dynamodb:DeleteResourcePolicy\n", "                  - dynamodb:DeleteResourcePolicy\n                  - dynamodb:DeleteTable\n"),
    ("the operator finds no state of the retrofit", OPERATOR + "          KEYFOLD_CONTROL_TABLE: !Ref ControlTable\n", OPERATOR + "          KEYFOLD_CONTROL: !Ref ControlTable\n"),
    ("the operator's rows go to another table", OPERATOR + "          KEYFOLD_CONTROL_TABLE: !Ref ControlTable\n", OPERATOR + "          KEYFOLD_CONTROL_TABLE: keyfold-control\n"),
    ("the operator's binary does something else", "BuildProperties: { Binary: operator }", "BuildProperties: { Binary: replicator }"),
    ("the state machine moves writers by the backfiller", "OperatorArn: !GetAtt AuditV2OperatorFunction.Arn", "OperatorArn: !GetAtt AuditV2BackfillerFunction.Arn"),
    ("the operator is not exempt from its own policy", "!GetAtt AuditV2OperatorRole.Arn, !GetAtt AuditV2VerifierRole.Arn]]", "!GetAtt AuditV2VerifierRole.Arn]]"),
    ("runs do not look for batches that were set aside", "        FailureBucket: !Ref AuditV2FailureBucket\n", "        FailureBucket: !Ref AlarmTopic\n"),
    ("the state machine may not see the failure bucket", "                Action: s3:ListBucket\n                Resource: !GetAtt AuditV2FailureBucket.Arn\n              - Sid: SeeTheMapping",
     "                Action: s3:GetObject\n                Resource: !GetAtt AuditV2FailureBucket.Arn\n              - Sid: SeeTheMapping"),
    ("another reader of page token keys", "  PageTokenKey:\n    Type: AWS::SecretsManager::Secret\n    DeletionPolicy: Delete", "  PageTokenKey:\n    Type: AWS::SecretsManager::Secret\n    Condition: HasKey\n    DeletionPolicy: Delete"),
]


def noticed(keyfold, path, text):
    path.write_text(text)
    done = subprocess.run([keyfold, "template", "--check", str(path)], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    broken = [line for line, reason in zip(lines, lines[1:]) if reason.startswith("  breaks: ")]
    return broken[0].split(": `", 1)[1].split("`")[0] if done.returncode == 1 and broken else None


def main(keyfold):
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "template.yaml"
        assert noticed(keyfold, path, TEMPLATE) is None, "the template itself is not right"
        for what, wanted, changed in MUTANTS:
            assert wanted in TEMPLATE, f"{what}: {wanted!r} is not in the template any more"
            place = noticed(keyfold, path, TEMPLATE.replace(wanted, changed, 1))
            passed += place is None
            print(f"{what:48} {place or 'NOT NOTICED'}")
    print(f"{len(MUTANTS)} harmful changes, {len(MUTANTS) - passed} noticed")
    return passed > PASS_MAX


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
