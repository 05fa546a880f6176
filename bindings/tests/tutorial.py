"""Runs the lines in JavaScript and Python of docs/writing.md against the endpoint of the environment: tutorial.py FOLDER

FOLDER has the npm package and the AWS SDK. What the lines take for granted (a client, an event) is made before them; after them, the
event must be among what they found.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEFORE_JS = """
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { load } from "keyfold";

const event = { id: "tutorial-js", resourceId: "123js", action: "viewed", accessedBy: "joe1", timestamp: "2017-03-05T10:00:00Z" };
const { resourceId, accessedBy } = event;
const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const keyfold = await load(readFileSync(process.env.KEYFOLD_MANIFEST, "utf8"));
"""
AFTER_JS = 'assert.deepEqual(items.map((item) => item.id), ["tutorial-js"]);\n'
BEFORE_PYTHON = """
import os
from pathlib import Path

import boto3

import keyfold

event = {"id": "tutorial-python", "resourceId": "123bbb", "action": "viewed", "accessedBy": "ann", "timestamp": "2017-03-05T10:00:00Z"}
client, dynamodb = boto3.client("dynamodb"), boto3.resource("dynamodb")
tables = keyfold.load(Path(os.environ["KEYFOLD_MANIFEST"]).read_text(encoding="utf-8"))
"""
AFTER_PYTHON = 'assert "tutorial-python" in [item["id"] for item in answer["items"]], answer\n'

page = (ROOT / "docs/writing.md").read_text(encoding="utf-8")
for kind, before, after in (("js", BEFORE_JS, AFTER_JS), ("python", BEFORE_PYTHON, AFTER_PYTHON)):
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)
    if not blocks:
        sys.exit(f"docs/writing.md has no block in {kind}")
    for block in blocks:
        program = before + block + after
        if kind == "js":
            file = Path(sys.argv[1]) / "tutorial.mjs"
            file.write_text(program, encoding="utf-8")
            done = subprocess.run(["node", "--no-warnings", file.name], cwd=sys.argv[1], capture_output=True, text=True)
        else:
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the page's block in {kind} failed:\n{block}\n{done.stderr}")
    print(f"docs/writing.md: {len(blocks)} block in {kind} writes and asks")
