"""Names of release files, and the version that all of them carry."""

import json
import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "release-files"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def toml(path):
    return tomllib.loads((ROOT / path).read_text())


VERSION = toml("Cargo.toml")["workspace"]["package"]["version"]
TARGETS = {target["name"]: target for target in toml("release/targets.toml")["target"]}


def is_windows(target):
    return "windows" in target


def binary(target):
    return "keyfold.exe" if is_windows(target) else "keyfold"


def archive(target):
    return f"keyfold-{VERSION}-{target}{'.zip' if is_windows(target) else '.tgz'}"


def npm_package(target):
    """The name of the npm package that holds the binary of one platform."""
    platform = TARGETS[target]["npm"]
    return "-".join(["keyfold-cli", platform["os"], platform["cpu"], *(["musl"] if platform.get("libc") == "musl" else [])])


def matrix():
    """The builds of the release workflow, one for each platform."""
    return [{"target": name, "runner": target.get("runner", "ubuntu-24.04"), "binary": binary(name)} for name, target in TARGETS.items()]


if __name__ == "__main__" and sys.argv[1:] == ["--matrix"]:
    print(json.dumps(matrix()))
