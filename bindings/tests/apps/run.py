"""The same application with Keyfold, ElectroDB and PynamoDB: type-checked strictly, run in the same scenario, compared, and counted.

    run.py KEYFOLD NODE_FOLDER VENV FOLDER

NODE_FOLDER has `node_modules` with keyfold, electrodb, the AWS SDK and TypeScript; VENV has keyfold, pynamodb, boto3 and mypy. FOLDER is made anew.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boto3

import keyfold.testing

HERE = Path(__file__).resolve().parent
#: Each application and its language's driver. The first has the results that the others must have.
APPLICATIONS = {"keyfold.ts": "node", "electrodb.ts": "node", "keyfold_app.py": "python", "pynamodb_app.py": "python"}
#: Attributes that a library adds for itself, or shows as it likes.
OWN = re.compile(r"__edb_\w_?_?|kind|pk|sk|gsi1pk|gsi1sk")
#: Calls whose result has no order.
UNORDERED = {"products", "everythingOf"}
#: The most lines that an application with Keyfold may have, of those that the application in the same language has.
LINES_MAX = {"keyfold.ts": ("electrodb.ts", 0.75), "keyfold_app.py": ("pynamodb_app.py", 1.0)}

command, node_folder, venv, folder = (Path(one).absolute() for one in sys.argv[1:])


def prepared():
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in HERE.iterdir():
        if file.is_file() and file.suffix != ".md":
            shutil.copy(file, folder)
    (folder / "node_modules").symlink_to(node_folder / "node_modules")
    (folder / "package.json").write_text('{"type":"module"}', encoding="utf-8")
    for language, name in (("typescript", "keyfold_shop.ts"), ("pydantic", "keyfold_shop.py")):
        arguments = [command, "--manifest", "shop.toml", "types", "--lang", language]
        text = subprocess.run(arguments, cwd=folder, check=True, capture_output=True, text=True).stdout
        (folder / name).write_text(text, encoding="utf-8")


def type_checked():
    options = {"strict": True, "target": "es2023", "module": "nodenext", "skipLibCheck": True, "types": ["node"]}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}), encoding="utf-8")
    python = [name for name in APPLICATIONS if name.endswith(".py")]
    for checker in ([folder / "node_modules/.bin/tsc"], [venv / "bin/mypy", "--strict", "--no-error-summary", *python]):
        done = subprocess.run(checker, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}")


def comparable(value):
    """A result without what a library adds, and with one text for one value."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in sorted(value.items()) if not OWN.fullmatch(name)}
    return [comparable(one) for one in value] if isinstance(value, list) else value


def played(name, language):
    """The results of the scenario, and the table's items after it."""
    with keyfold.testing.local(folder / "shop.toml", str(command)) as local:
        program = ["node", "--no-warnings", "driver.mjs", folder / name.replace(".ts", ".js")] if language == "node" else [
            venv / "bin/python", "driver.py", Path(name).stem]
        done = subprocess.run([*program, "scenario.json", local.endpoint], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}:\n{done.stdout}{done.stderr}")
        stored = boto3.client("dynamodb", **local.access).scan(TableName="Shop")["Items"]
    results = [(method, comparable(result)) for method, result in map(json.loads, done.stdout.splitlines())]
    ordered = [(method, sorted(result, key=json.dumps) if method in UNORDERED else result) for method, result in results]
    items = [{field: one for field, one in sorted(item.items()) if not field.startswith("__edb")} for item in stored]
    return ordered, sorted(items, key=json.dumps)


def compared(name, ours, wanted):
    for at, (one, other) in enumerate(zip(ours[0] + ours[1], wanted[0] + wanted[1], strict=True)):
        if one != other:
            sys.exit(f"{name}, result {at}:\n  {one}\ninstead of\n  {other}")


def lines_of(name):
    """Lines that somebody wrote, without empty lines and comments. With Keyfold, those of the manifest belong to the application."""
    files = [name, *(["shop.toml"] if name.startswith("keyfold") else [])]
    lines = [line.strip() for file in files for line in (HERE / file).read_text(encoding="utf-8").splitlines()]
    return sum(1 for line in lines if line and not line.startswith(("//", "#")))


prepared()
type_checked()
first = None
for name, language in APPLICATIONS.items():
    outcome = played(name, language)
    first = first or outcome
    compared(name, outcome, first)
calls = len({method for method, _ in first[0]})
lines = {name: lines_of(name) for name in APPLICATIONS}
print(f"four applications with {calls} calls: {len(first[0])} results and {len(first[1])} items, no difference")
for name, count in lines.items():
    print(f"  {name:<16} {count:>4} lines")
for name, (other, share) in LINES_MAX.items():
    if lines[name] > share * lines[other]:
        sys.exit(f"{name} has more than {share} of the lines of {other}")
