"""Packs binaries of `keyfold` into what people install: an archive, a wheel and an npm package for each platform, the npm package that
chooses between them, and SHA256SUMS. Equal binaries give equal files: times, owners and order are fixed.

    python3 release/pack.py TARGET=BINARY...

A binary that is not from `release/build` runs on this machine's C library only: `--this-machine` says so in the wheel's name.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

from names import LICENCES, OUT, ROOT, TARGETS, VERSION, archive, binary, is_windows, npm_package
from wheel.wheelfile import WheelFile

SUMMARY = "Add an access pattern to a live DynamoDB table: the `keyfold` command"
LICENCE = "MIT OR Apache-2.0"
# The first moment that a zip file can hold. A wheel's list of files takes it from the environment.
TIME = (1980, 1, 1, 0, 0, 0)
os.environ["SOURCE_DATE_EPOCH"] = "315532800"


def files_of(name, program):
    """The program with this name, the licences and the README, as `(name, bytes, mode)`."""
    yield name, program, 0o755
    for text in [*LICENCES, "README.md"]:
        yield text, (ROOT / text).read_bytes(), 0o644


def write_archive(target, program):
    path = OUT / archive(target)
    folder = f"keyfold-{VERSION}-{target}"
    if is_windows(target):
        with zipfile.ZipFile(path, "w") as packed:
            for name, content, mode in files_of(binary(target), program):
                add_to_zip(packed, f"{folder}/{name}", content, mode)
        return
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name, content, mode in files_of(binary(target), program):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), mode
            packed.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(tar.getvalue(), 9, mtime=0))


def add_to_zip(packed, name, content, mode):
    entry = zipfile.ZipInfo(name, TIME)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16, 3
    packed.writestr(entry, content)


def write_wheel(target, program, platform):
    info = f"keyfold_cli-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.4\nName: keyfold-cli\nVersion: {VERSION}\nSummary: {SUMMARY}\nLicense-Expression: {LICENCE}\n"
    metadata += "".join(f"License-File: {name}\n" for name in LICENCES)
    metadata += "Keywords: dynamodb,aws,index,migration\nClassifier: Topic :: Database\nDescription-Content-Type: text/markdown\n\n"
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
    texts = {
        f"{info}/METADATA": metadata.encode() + (ROOT / "README.md").read_bytes(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: keyfold\nRoot-Is-Purelib: false\n{tags}".encode(),
        **{f"{info}/licenses/{name}": (ROOT / name).read_bytes() for name in LICENCES},
    }
    with WheelFile(OUT / f"keyfold_cli-{VERSION}-py3-none-{platform}.whl", "w") as wheel:
        add_to_zip(wheel, f"keyfold_cli-{VERSION}.data/scripts/{binary(target)}", program, 0o755)
        for name, content in texts.items():
            add_to_zip(wheel, name, content, 0o644)


def write_npm(name, package, files):
    """Packs with npm itself. Its archive has fixed times already."""
    folder = OUT / "npm" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    whole = {"name": name, "version": VERSION, "description": SUMMARY, "license": LICENCE, **package, "files": [file for file, _, _ in files]}
    (folder / "package.json").write_text(json.dumps(whole, indent=2) + "\n")
    for file, content, mode in files:
        (folder / file).write_bytes(content)
        (folder / file).chmod(mode)
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", OUT, folder], check=True, stdout=subprocess.DEVNULL)


def write_npm_platform(target, program):
    platform = {key: [value] for key, value in TARGETS[target]["npm"].items()}
    write_npm(npm_package(target), {**platform, "preferUnplugged": True}, list(files_of(binary(target), program)))


def write_npm_main():
    """The package that people name. npm installs the one platform package that fits the machine."""
    packages = {npm_package(target): VERSION for target in TARGETS}
    files = list(files_of("keyfold.js", (ROOT / "release/keyfold.js").read_bytes()))
    package = {"bin": {"keyfold": "keyfold.js"}, "optionalDependencies": packages, "engines": {"node": ">=20"}, "keywords": ["dynamodb", "aws", "cli"]}
    write_npm("keyfold-cli", package, files)


def write_sums():
    files = sorted(path for path in OUT.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (OUT / "SHA256SUMS").write_text("".join(lines))
    print("".join(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}\n" for path in files), end="")


def main():
    this_machine = "--this-machine" in sys.argv
    pairs = [argument.split("=", 1) for argument in sys.argv[1:] if argument != "--this-machine"]
    for target, _ in pairs:
        if target not in TARGETS:
            sys.exit(f"{target} is not in release/targets.toml")
    OUT.mkdir(parents=True, exist_ok=True)
    for target, path in pairs:
        with open(path, "rb") as file:
            program = file.read()
        write_archive(target, program)
        write_wheel(target, program, "linux_x86_64" if this_machine else TARGETS[target]["wheel"])
        write_npm_platform(target, program)
    write_npm_main()
    write_sums()


if __name__ == "__main__":
    main()
