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


def optimised():
    """Options of Cargo that optimise what Cargo.toml hardly does, for a short `cargo run --release`: a release is built once and started often."""
    profile = toml("Cargo.toml")["profile"]["release"]
    below = [f'package."{name}".' for name, package in profile["package"].items() if package["opt-level"] < 2]
    return [f"--config=profile.release.{package}opt-level=3" for package in ["", *below]]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--matrix"]:
            print(json.dumps(matrix()))
        case ["--optimised"]:
            print(*optimised())
