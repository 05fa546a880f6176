"""Bundles: each is what SAM makes of the SAM template, the same twice, deployable from its bucket, and taken by the tools of examples/deploy.

Usage: python tests/deployment/bundle.py KEYFOLD FUNCTIONS MANIFEST...
FUNCTIONS has a folder with `bootstrap` for each function, as `cargo lambda build` leaves it.
"""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from deploy import generated, made_beforehand, read_back
from moto.cloudformation.models import cloudformation_backends
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from simulated import ACCOUNT, REGION, Aws, deploy

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "deploy"
PORT = 19314
PACKAGES = ROOT / "target" / "deploy-packages"


# The AWS CLI's and SAM's, with the simulated AWS.
CLI = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}", "AWS_DEFAULT_REGION": "us-east-1"}


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def bundled(keyfold, functions, manifest, folder, *more):
    run(keyfold, "--manifest", manifest, "bundle", "--functions", functions, "--out", folder, *more)
    return json.loads((folder / "template.json").read_text())


def by_sam(keyfold, manifest, plain):
    """What SAM's own translator makes of the SAM template, with the same places of the packages."""
    template = yaml_parse(generated(keyfold, manifest))
    place = lambda key: {"Bucket": {"Ref": "CodeBucket"}, "Key": {"Fn::Sub": "${CodePrefix}" + key}}
    keys = {re.sub(r"-[0-9a-f]{12}\..*", "", key): key for key in re.findall(r"\$\{CodePrefix\}([^\"]+)", json.dumps(plain))}
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if "CodeUri" in properties:
            properties["CodeUri"] = place(keys[resource["Metadata"]["BuildProperties"]["Binary"]])
        if "ContentUri" in properties:
            properties["ContentUri"] = place(keys["manifest"])
        if "DefinitionUri" in properties:
            properties["DefinitionUri"] = place(keys["retrofit"])
    return Translator({}, Parser()).translate(template, {})


def normal(template):
    """Without what SAM adds for itself: its tags, the digest in a layer's id, metadata of the build. The processor is the binaries'."""
    text = re.sub(r"ManifestLayer[0-9a-f]{10}", "ManifestLayer", json.dumps(template))
    template = json.loads(text)
    for resource in template["Resources"].values():
        resource.pop("Metadata", None)
        properties = resource.get("Properties", {})
        tags = [tag for tag in properties.get("Tags", []) if not tag["Key"].endswith(":createdBy")]
        properties.pop("Tags", None)
        properties.pop("Architectures", None)
        if tags:
            properties["Tags"] = tags
    for name in ("CodeBucket", "CodePrefix"):
        template["Parameters"].pop(name, None)
    template.pop("Transform", None)
    return texts(template)


def texts(node):
    """Scalars as texts: `true` and "true" are the same for CloudFormation."""
    if isinstance(node, dict):
        return {name: texts(part) for name, part in node.items()}
    if isinstance(node, list):
        return [texts(part) for part in node]
    return str(node).lower() if isinstance(node, bool) else str(node)


def differing(left, right, path=""):
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted({*left, *right}):
            yield from differing(left.get(name), right.get(name), f"{path}.{name}")
    elif left != right:
        yield f"{path}: {json.dumps(left)[:200]} by keyfold, {json.dumps(right)[:200]} by SAM"


def compare(keyfold, functions, manifest, folder):
    plain = bundled(keyfold, functions, manifest, folder)
    found = list(differing(normal(plain), normal(by_sam(keyfold, manifest, plain))))
    assert not found, "\n".join(found)
    return plain


def check_files(keyfold, functions, folder):
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        content = (folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest, name
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                (entry,) = archive.infolist()
                mode, held = entry.external_attr >> 16, archive.read(entry)
            function = functions / re.sub(r"-[0-9a-f]{12}\.zip", "", name) / "bootstrap"
            if entry.filename == "bootstrap":
                assert held == function.read_bytes() and mode & 0o111 == 0o111, name
            else:
                assert entry.filename == "keyfold.toml" and held == (ROOT / "keyfold.toml").read_bytes() and mode & 0o444 == 0o444, name
    again = folder.with_name("again")
    bundled(keyfold, functions, ROOT / "keyfold.toml", again)
    assert (again / "SHA256SUMS").read_text() == (folder / "SHA256SUMS").read_text(), "the same bundle has other bytes the second time"
    # A release's zips give the same bundle.
    release = folder.with_name("release")
    release.mkdir()
    for path in folder.glob("*.zip"):
        if not path.name.startswith("manifest"):
            shutil.copy(path, release / re.sub(r"-[0-9a-f]{12}", "", path.name))
    of_release = folder.with_name("of-release")
    bundled(keyfold, release, ROOT / "keyfold.toml", of_release)
    assert {path.name for path in of_release.iterdir()} == {path.name for path in folder.iterdir()}
    print(f"{len(sums)} files with their checksums, the same twice, and the same from a release's zips")


def refused(keyfold, functions, folder):
    """Zips that Lambda would refuse, or could not run."""
    program = next(functions.glob("*/bootstrap")).read_bytes()
    other = program[:18] + (b"\x3e" if program[18] == 0xB7 else b"\xb7") + program[19:]
    def archive(name, content, how=zipfile.ZIP_STORED):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", how) as file:
            file.writestr(name, content)
        return packed.getvalue()
    compressed = archive("bootstrap", program, zipfile.ZIP_DEFLATED)
    for content, options, reason in [
        (b"notazip", (), "is not a zip"),
        (archive("main", program), (), "is not a zip whose first file is `bootstrap`"),
        (archive("bootstrap", b"#!/bin/sh\n"), (), "is not for Lambda"),
        (archive("bootstrap", other), (), "different processors"),
        (compressed, (), "name it with --architecture"),
        (compressed, ("--architecture", "x86_64" if program[18] == 0xB7 else "arm64"), "different processors"),
    ]:
        release = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
        for function in functions.glob("*/bootstrap"):
            (release / f"{function.parent.name}.zip").write_bytes(archive("bootstrap", program))
        (release / "replicator.zip").write_bytes(content)
        done = subprocess.run([keyfold, "bundle", "--functions", release, "--out", release / "out", *options], capture_output=True, text=True)
        assert done.returncode != 0 and reason in done.stderr, (reason, done.stderr)
    print("six zips that Lambda could not run are refused")


def large(keyfold, functions, folder):
    """A template near CloudFormation's limit is within it as a bundle."""
    index = lambda at: f'[tables.TABLE.indexes.byAttribute{at}]\npartition = "{{a}}-{at}"\n'
    table = '[tables.TABLE]\nname = "Production.TABLE"\npartition = "id"\nattributes = { id = "string", a = "string" }\nallow = []\n'
    table += "".join(map(index, range(19)))
    manifest = folder.with_name("large.toml")
    retrofits = "".join(f'[retrofits.r{at}]\nfrom = "table{2 * at}"\nto = "table{2 * at + 1}"\n' for at in range(8))
    manifest.write_text("".join(table.replace("TABLE", f"table{at}") for at in range(16)) + retrofits)
    out = folder.with_name("large")
    plain = bundled(keyfold, functions, manifest, out)
    size = (out / "template.json").stat().st_size
    assert size < 1024 * 1024 < len(json.dumps(plain, indent=2)), size
    # As `get-template` prints it.
    pretty = folder.with_name("large.json")
    pretty.write_text(json.dumps(plain, indent=4))
    run(keyfold, "--manifest", manifest, "template", "--check", pretty)
    print(f"{len(plain['Resources'])} resources have {size} bytes")


def staged(keyfold, functions, folder):
    """Each stage's bundle has one global index more of a table than the one before."""
    counts = []
    for stage in (1, 2):
        plain = bundled(keyfold, functions, ROOT / "keyfold.toml", folder.with_name(f"stage{stage}"), "--stage", stage, "--have", "audit.byUserAction")
        counts.append(len(plain["Resources"]["AuditTable"]["Properties"]["GlobalSecondaryIndexes"]))
    assert counts == [2, 3], counts
    print("bundles of two stages: the second has one index more")


def packaged(keyfold, folder):
    """The SAM template as `sam deploy` uploads it."""
    place = folder.with_name("sam")
    place.mkdir()
    run(keyfold, "template", "--out", place / "template.yaml")
    (place / "functions").symlink_to(ROOT / "functions")
    words = ["package", "--s3-bucket", "packages", "--template-file", place / "template.yaml", "--output-template-file", place / "packaged.yaml"]
    run(pathlib.Path(sys.executable).with_name("sam"), *words, cwd=place, env=CLI)
    return (place / "packaged.yaml").read_text()


def checked(aws, keyfold, folder):
    """The check before an update, as docs/day-to-day.md has it, with what `get-template` gives."""
    text = (ROOT / "docs" / "day-to-day.md").read_text()
    command = re.search(r"^aws cloudformation get-template .*\n(keyfold template --check .*)$", text, re.M)[0]
    shown = (folder / "template.json").read_text()
    wrong = shown.replace('"TRIM_HORIZON"', '"LATEST"')
    assert wrong != shown
    for template, status in [(shown, 0), (wrong, 1), (packaged(keyfold, folder), 0)]:
        aws("cloudformation").create_change_set(StackName="shown", ChangeSetName="one", ChangeSetType="CREATE", TemplateBody=template)
        # moto gives a stack its template when it makes the resources.
        next(stack for stack in cloudformation_backends[ACCOUNT][REGION].stacks.values() if stack.name == "shown").template = template
        words = command.replace("--stack-name keyfold", "--stack-name shown").replace("keyfold template", f"{keyfold} --manifest {ROOT}/keyfold.toml template")
        done = subprocess.run(["sh", "-ec", words], cwd=folder.parent, capture_output=True, text=True, env=CLI)
        assert done.returncode == status and ("StartingPosition" in done.stderr) == (status == 1), done.stdout + done.stderr
        aws("cloudformation").delete_stack(StackName="shown")
    print("keyfold template --check: what is deployed is right, from a bundle and by SAM, and a changed one is not")


def uploaded(aws, keyfold, functions, folder):
    """Copied with the AWS CLI, and deployed from there."""
    aws.empty()
    run(keyfold, "bundle", "--functions", functions, "--out", folder, "--upload", "s3://packages/keyfold", env=CLI)
    listed = {one["Key"] for one in aws("s3").list_objects_v2(Bucket="packages")["Contents"]}
    assert {f"keyfold/{path.name}" for path in folder.iterdir()} <= listed, listed
    print(f"uploaded: {len(listed) - 1} objects")


def deployed(aws, plain):
    parameters = {"CodeBucket": "packages", "CodePrefix": "keyfold/", **made_beforehand(aws, plain)}
    deploy(aws, plain, parameters)
    seen = read_back(aws, plain, parameters)
    print(f"deployed from the bucket: {', '.join(f'{count} {what}' for what, count in seen.items())}")


def npm(name, pins=None):
    """The packages of an example, installed once."""
    folder = PACKAGES / name
    folder.mkdir(parents=True, exist_ok=True)
    pins = pins or (EXAMPLES / name / "package.json").read_text()
    if not (folder / "installed.json").exists() or (folder / "installed.json").read_text() != pins:
        (folder / "package.json").write_text(pins)
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", cwd=folder)
        (folder / "installed.json").write_text(pins)
    return folder


EACH = """
for (const [at, environment] of JSON.parse(process.argv[2]).entries()) {
  Object.assign(process.env, environment);
  await import(`./app.mjs?${at}`);
}
"""


def cdk(folders):
    """The CDK app's template has the bundle's resources, with both parameters filled."""
    packages = npm("cdk")
    shutil.copy(EXAMPLES / "cdk" / "app.mjs", packages / "app.mjs")
    # All in one process: aws-cdk-lib is loaded once.
    (packages / "all.mjs").write_text(EACH)
    out = lambda folder: folder.with_name(f"{folder.name}.cdk.out")
    runs = [{"BUNDLE": str(folder), "BUCKET": "packages", "PREFIX": "keyfold/", "CDK_OUTDIR": str(out(folder))} for folder in folders]
    done = subprocess.run(["node", "all.mjs", json.dumps(runs)], cwd=packages, capture_output=True, text=True, check=True)
    said = done.stderr + done.stdout
    # Every template has all parameters and conditions, whether this manifest needs them or not.
    unused = re.compile("WARNING (Parameters|Conditions)/.* is not (referenced anywhere in the template|used by any resource or Fn::If)")
    assert "ERROR" not in said and not [line for line in said.splitlines() if "WARNING" in line and not unused.match(line)], said
    for folder in folders:
        made = json.loads((out(folder) / "keyfold.template.json").read_text())
        text = (folder / "template.json").read_text().replace("${CodePrefix}", "keyfold/")
        text = re.sub(r'\{\s*"Ref":\s*"CodeBucket"\s*\}', '"packages"', text)
        wanted = json.loads(text)
        found = list(differing(texts(plain_sub(wanted["Resources"])), texts(plain_sub(made["Resources"]))))
        assert not found, "\n".join(found)
        assert set(wanted["Parameters"]) - {"CodeBucket", "CodePrefix"} <= set(made["Parameters"])
    print(f"CDK: {len(folders)} bundles synthesised, with the bundle's resources and nothing else")


def plain_sub(node):
    """A substitution without gaps is its text; CDK leaves metadata."""
    if isinstance(node, dict):
        if set(node) == {"Fn::Sub"} and isinstance(node["Fn::Sub"], str) and "${" not in node["Fn::Sub"]:
            return node["Fn::Sub"]
        return {name: plain_sub(part) for name, part in node.items() if name not in ("CDKMetadata",)}
    return [plain_sub(part) for part in node] if isinstance(node, list) else node


MOCKS = """
import * as pulumi from "@pulumi/pulumi";
const made = [];
const newResource = ({ type, inputs }) => (made.push({ type, inputs }), { id: "id", state: { ...inputs, outputs: { ApiUrl: "https://api" } } });
await pulumi.runtime.setMocks({ newResource, call: ({ inputs }) => inputs }, "keyfold", "dev");
pulumi.runtime.setAllConfig({ "keyfold:bucket": "packages" });
const { api } = await import("./index.mjs");
console.log(JSON.stringify({ made, api: await new Promise((resolve) => api.apply(resolve)) }));
"""
STACK = re.compile(r"new aws\.cloudformation\.Stack\(.*?\}\);", re.S)


def pulumi():
    """Run with Pulumi's mocks. SST's example makes the same resource."""
    packages = npm("pulumi")
    shutil.copy(EXAMPLES / "pulumi" / "index.mjs", packages / "index.mjs")
    (packages / "mocks.mjs").write_text(MOCKS)
    done = json.loads(run("node", "mocks.mjs", cwd=packages))
    (stack,) = done["made"]
    assert stack["type"] == "aws:cloudformation/stack:Stack" and stack["inputs"]["parameters"] == {"CodeBucket": "packages", "CodePrefix": "keyfold/"}, stack
    assert done["api"] == "https://api", done
    parts = [STACK.search((EXAMPLES / name).read_text())[0].split() for name in ("pulumi/index.mjs", "sst/sst.config.ts")]
    assert parts[0] == parts[1], "the example of SST is another"
    print("Pulumi: the stack with its parameters and its output; SST: the same resource")


# The parser is HashiCorp's own, compiled to WebAssembly.
HCL = json.dumps({"private": True, "type": "module", "dependencies": {"@cdktf/hcl2json": "0.21.0"}})
PARSE = """
import { readFileSync } from "node:fs";
import { parse } from "@cdktf/hcl2json";
const files = process.argv.slice(2);
console.log(JSON.stringify(await Promise.all(files.map((file) => parse(file, readFileSync(file, "utf8"))))));
"""
# Where Pulumi's provider, which is made from Terraform's schema, declares the arguments of each resource.
SCHEMAS = {
    "aws_cloudformation_stack": ("cloudformation/stack.d.ts", "StackArgs"),
    "aws_dynamodb_table": ("dynamodb/table.d.ts", "TableArgs"),
    "aws_dynamodb_global_secondary_index": ("dynamodb/globalSecondaryIndex.d.ts", "GlobalSecondaryIndexArgs"),
}


def terraform(keyfold):
    """The example is read by Terraform's parser, and compared with its provider's schema and the manifest."""
    packages, aws = npm("terraform", HCL), npm("pulumi") / "node_modules" / "@pulumi" / "aws"
    (packages / "parse.mjs").write_text(PARSE)
    resources = {}
    for file in json.loads(run("node", "parse.mjs", *sorted((EXAMPLES / "terraform").glob("*.tf")), cwd=packages)):
        resources.update(file["resource"])
    inputs = (aws / "types" / "input.d.ts").read_text()
    for kind, named in resources.items():
        file, schema = SCHEMAS[kind]
        for name, (block,) in named.items():
            block.pop("lifecycle", None)
            check_block(f"{kind}.{name}", block, interface((aws / file).read_text(), schema), inputs)
    manifest = ROOT / ".ci" / "manifests" / "orders-in-place.toml"
    (stack,), (table,) = resources["aws_cloudformation_stack"].values(), resources["aws_dynamodb_table"].values()
    plain = yaml_parse(generated(keyfold, manifest))
    unknown = set(stack[0]["parameters"]) - set(plain["Parameters"]) - {"CodeBucket", "CodePrefix"}
    assert not unknown, unknown
    assert table[0]["stream_view_type"] == "NEW_AND_OLD_IMAGES", table
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as managed:
        managed.write(manifest.read_text().replace("managed = false\n", ""))
        managed.flush()
        (wanted,) = yaml_parse(generated(keyfold, managed.name))["Resources"]["OrdersTable"]["Properties"]["GlobalSecondaryIndexes"]
    (index,) = resources["aws_dynamodb_global_secondary_index"].values()
    keys = [{"AttributeName": key["attribute_name"], "KeyType": key["key_type"]} for key in index[0]["key_schema"]]
    assert (index[0]["index_name"], keys) == (wanted["IndexName"], wanted["KeySchema"]), (index, wanted)
    print(f"Terraform: {len(resources)} resources parsed, with the provider's arguments and the manifest's index and parameters")
    validated()


def validated():
    """By Terraform itself, as far as it can be had: it formats without its provider, and validates with it."""
    if not shutil.which("terraform"):
        return print("!!! NOT RUN: terraform is not installed: its example was neither formatted nor validated by it")
    run("terraform", "fmt", "-check", EXAMPLES / "terraform")
    with tempfile.TemporaryDirectory() as folder:
        for file in (EXAMPLES / "terraform").glob("*.tf"):
            shutil.copy(file, folder)
        environment = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "TF_IN_AUTOMATION": "1"}
        done = subprocess.run(["terraform", "init", "-backend=false", "-no-color"], cwd=folder, capture_output=True, text=True, env=environment)
        if done.returncode:
            return print("!!! NOT RUN: `terraform validate`, because the provider hashicorp/aws could not be downloaded; formatted: yes")
        run("terraform", "validate", "-no-color", cwd=folder, env=environment)
    print("Terraform: formatted and validated by itself")


def interface(text, name):
    """The members of an interface, and whether each is optional."""
    body = re.search(rf"\binterface {name} {{\n(.*?)\n *}}\n(?= *(?:/\*\*|interface|export|//|}}|$))", text, re.S)[1]
    return {name: (optional == "?", kind) for name, optional, kind in re.findall(r"^ +(\w+)(\??): (.*)$", body, re.M)}


def check_block(place, block, members, inputs):
    """Each argument is one that the provider has, and none that it needs is missing."""
    camel = lambda name: re.sub(r"_(\w)", lambda match: match[1].upper(), name)
    known = {name: next((one for one in (camel(name), camel(name) + "s") if one in members), None) for name in block}
    assert all(known.values()), f"{place} has {[name for name, one in known.items() if one is None]}, which the provider has not"
    missing = {name for name, (optional, _) in members.items() if not optional} - set(known.values())
    assert not missing, f"{place} needs {missing}"
    for name, value in block.items():
        nested = re.search(r"inputs\.\w+\.(\w+)", members[known[name]][1])
        for part in value if nested else ():
            check_block(f"{place}.{name}", part, interface(inputs, nested[1]), inputs)


def main(keyfold, functions, manifests):
    keyfold, functions = pathlib.Path(keyfold).resolve(), pathlib.Path(functions).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        folders = []
        for number, manifest in enumerate(manifests):
            folder = temporary / f"bundle{number}"
            plain = compare(keyfold, functions, manifest, folder)
            folders.append(folder)
            if number == 0:
                sample = plain
            print(f"{manifest}: {len(plain['Resources'])} resources, as SAM's translator has them")
        # The others have the same types, and cfn-lint has seen them as SAM templates, which it expands.
        run(pathlib.Path(sys.executable).with_name("cfn-lint"), "--regions", "us-east-1", "--", folders[0] / "template.json")
        print("cfn-lint finds nothing")
        check_files(keyfold, functions, folders[0])
        refused(keyfold, functions, folders[0])
        large(keyfold, functions, folders[0])
        staged(keyfold, functions, folders[0])
        aws = Aws(PORT)
        if shutil.which("aws"):
            uploaded(aws, keyfold, functions, folders[0])
            deployed(aws, sample)
            checked(aws, keyfold, folders[0])
        elif "CI" in os.environ:
            sys.exit("the AWS CLI is not installed")
        else:
            print("the AWS CLI is not installed: nothing was uploaded")
        cdk(folders)
        pulumi()
        terraform(keyfold)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
