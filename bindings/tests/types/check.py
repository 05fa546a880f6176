#!/usr/bin/env python3
"""Does each mistake in these files give its error, and does nothing else give one?

    check.py KEYFOLD TSC MYPY FOLDER

KEYFOLD is the command; FOLDER is made anew. A comment `error CODE` at the end of a line says what the line must give.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
MANIFESTS = {"audit": "keyfold.toml", "pets": "examples/pets/keyfold.toml", "projects": "examples/projects/keyfold.toml",
             "shop": "bindings/tests/types/shop.toml"}
EXPECTED = re.compile(r"(?://|#) error (\S+)$")
CARGO = """[workspace]
[package]
name = "keyfold-types-check"
version = "0.0.0"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies]
keyfold-core = {{ path = {core} }}
serde = {{ version = "1", features = ["derive"] }}
"""

keyfold, tsc, mypy, folder = sys.argv[1:4] + [Path(sys.argv[4])]


def written(language, suffix):
    """The types of each manifest, beside the files that use them."""
    place = folder / language
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, manifest in MANIFESTS.items():
        command = [keyfold, "--manifest", ROOT / manifest, "types", "--lang", language]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        (place / f"keyfold_{name}{suffix}").write_text(text, encoding="utf-8")
    return place


def run(command, place, **environment):
    return subprocess.run(command, cwd=place, capture_output=True, text=True, env={**os.environ, **environment}).stdout


def compiled(place, **more):
    options = {"strict": True, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "types": [], **more}
    options["paths"] = {"keyfold": [str(ROOT / "bindings/node/package/index.d.ts")]}
    (place / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}), encoding="utf-8")
    told = run([tsc, "--pretty", "false"], place)
    return place, ".ts", set(re.findall(r"^([\w./]+)\((\d+),\d+\): error (\w+)", told, re.M)), told


def typescript():
    place = written("typescript", ".ts")
    for name in MANIFESTS:
        shutil.copy(HERE / f"{name}.ts", place)
    return compiled(place, noEmit=True)


def zod():
    place = written("zod", ".ts")
    shutil.copy(HERE / "schemas.ts", place)
    (place / "node_modules").symlink_to(Path(tsc).absolute().parents[1])
    (place / "package.json").write_text('{"type":"module"}', encoding="utf-8")
    result = compiled(place, outDir="js")
    subprocess.run(["node", "js/schemas.js"], cwd=place, check=True)
    return result


def checked(place):
    command = [mypy, "--strict", "--no-error-summary", "--show-error-codes", "--no-incremental", "--python-version", "3.11", "."]
    told = run(command, place, MYPYPATH=str(ROOT / "bindings/python/python"))
    found = re.findall(r"^(\S+):(\d+): error: .*\[([\w-]+)\]$", told, re.M)
    return place, ".py", set(found), told  # what is wrong in the package itself counts, too


def python():
    place = written("python", ".py")
    for name in MANIFESTS:
        shutil.copy(HERE / f"{name}.py", place)
    return checked(place)


def pydantic():
    place = written("pydantic", ".py")
    shutil.copy(HERE / "models.py", place)
    subprocess.run([Path(mypy).parent / "python", "models.py"], cwd=place, check=True)
    return checked(place)


def rust():
    place = written("rust", ".rs")
    shutil.copy(HERE / "lib.rs", place)
    (place / "Cargo.toml").write_text(CARGO.format(core=json.dumps(str(ROOT / "shared/core"))), encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", place)
    told = run(["cargo", "check", "--quiet", "--message-format", "json"], place)
    found = set()
    for line in told.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") == "error" and message.get("code"):
            span = next(span for span in message["spans"] if span["is_primary"])
            found.add((span["file_name"], str(span["line_start"]), message["code"]["code"]))
    return place, ".rs", found, told


failed = False
for check in (typescript, zod, python, pydantic, rust):
    place, suffix, found, told = check()
    expected = set()
    for file in sorted(place.glob(f"*{suffix}")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if match := EXPECTED.search(line):
                expected.add((file.name, str(number), match[1]))
    if found != expected or not expected:
        failed = True
        print(f"{check.__name__}: not as expected", *sorted(found ^ expected), told[:6000], sep="\n  ")
    else:
        print(f"{check.__name__}: the types of {len(MANIFESTS)} manifests compile, and {len(expected)} mistakes are errors")
sys.exit(failed)
