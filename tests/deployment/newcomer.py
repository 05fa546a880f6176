"""Plays the way of a new user with live tables: from the example's manifest to an answer, without an edit of a template.

Usage: python tests/deployment/newcomer.py KEYFOLD
Tables with items are made with boto3 in a simulated AWS (moto). Then come the commands of docs/add-an-access-pattern.md, "From live tables to an
answer", with the program KEYFOLD; `sam deploy` is done as deploy.py does it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from deploy import packed, read_back, streams_of
from simulated import Aws, deploy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add-an-access-pattern.md"


def live_tables(aws):
    """As somebody has them who never heard of Keyfold: the keys and the local index, a stream, and items."""
    dynamo = aws("dynamodb")
    strings = lambda *names: [{"AttributeName": name, "AttributeType": "S"} for name in names]
    keys = lambda *names: [{"AttributeName": name, "KeyType": role} for name, role in zip(names, ("HASH", "RANGE"))]
    common = dict(BillingMode="PAY_PER_REQUEST", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    dynamo.create_table(TableName="organisations", AttributeDefinitions=strings("id"), KeySchema=keys("id"), **common)
    dynamo.create_table(
        TableName="projects",
        AttributeDefinitions=strings("organisationId", "projectId", "lastUpdated"),
        KeySchema=keys("organisationId", "projectId"),
        LocalSecondaryIndexes=[{"IndexName": "byLastUpdated", "KeySchema": keys("organisationId", "lastUpdated"),
                                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]}}],
        **common,
    )
    for table in ("organisations", "projects"):
        for line in (ROOT / "examples/projects" / f"{table}.jsonl").read_text().splitlines():
            dynamo.put_item(TableName=table, Item={name: {"S": value} for name, value in json.loads(line).items()})


def commands():
    """The commands of the page, in their order."""
    text = PAGE.read_text().split("### From live tables to an answer")[1].split("\n## ")[0]
    block = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    return [line.split(" #")[0].strip() for line in block.splitlines() if line.strip()]


def main(keyfold):
    aws = Aws(19311)
    aws.empty()
    live_tables(aws)
    environment = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": aws.url, "PATH": f"{pathlib.Path(keyfold).resolve().parent}:{os.environ['PATH']}"}
    environment.pop("KEYFOLD_MANIFEST", None)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "keyfold.toml").write_text((ROOT / "examples/projects/keyfold.toml").read_text())
        for command in commands():
            if command.startswith("sam "):
                template = packed(aws, keyfold, str(pathlib.Path(folder) / "keyfold.toml"))
                parameters = streams_of(aws, template)
                deploy(aws, template, parameters)
                seen = read_back(aws, template, parameters)
                print(f"{command}: {', '.join(f'{count} {what}' for what, count in seen.items())}")
                continue
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
            print(f"{command}: {(done.stdout.strip().splitlines() or ['done'])[-1]}")
            last = done.stdout
    assert "Barometer" in last, last


main(sys.argv[1])
