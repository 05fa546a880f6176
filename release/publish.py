"""Publishes the crates and the npm packages, in the order in which they need each other. Each registry's client reads its own token from the
environment. A version that is published already is left alone, so a run that failed can be repeated.

    python3 release/publish.py --list      the crates, in order
    python3 release/publish.py crates | npm     publishes; --dry-run changes nothing
"""

import json
import subprocess
import sys

from names import OUT, ROOT, VERSION


def crates():
    """The crates that may be published, each after those it depends on."""
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", ROOT / "Cargo.toml"]
    packages = json.loads(subprocess.run(metadata, check=True, capture_output=True).stdout)["packages"]
    needs = {
        package["name"]: {d["name"] for d in package["dependencies"] if d.get("path") and d["kind"] != "dev"}
        for package in packages
        if package["publish"] is None
    }
    ordered = []
    while needs:
        ready = sorted(name for name, wanted in needs.items() if wanted <= set(ordered))
        if not ready:
            sys.exit(f"these crates depend on a crate that is not published: {', '.join(sorted(needs))}")
        ordered += ready
        needs = {name: wanted for name, wanted in needs.items() if name not in ready}
    return ordered


def run(*command):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, cwd=ROOT)


def answers(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def publish_crates(options):
    """In one call: Cargo waits until the index has what the next crate needs."""
    names = [name for name in crates() if "--dry-run" in options or not answers("cargo", "info", "--registry", "crates-io", f"{name}@{VERSION}")]
    if names:
        run("cargo", "publish", "--locked", *options, *(part for name in names for part in ("-p", name)))


def publish_npm(options):
    """Platform packages first: the main package names them."""
    main = OUT / f"keyfold-cli-{VERSION}.tgz"
    for path in [*sorted(path for path in OUT.glob("keyfold-cli-*.tgz") if path != main), main]:
        package = path.name.removesuffix(f"-{VERSION}.tgz")
        if "--dry-run" in options or not answers("npm", "view", f"{package}@{VERSION}", "version"):
            run("npm", "publish", "--access", "public", "--provenance", *options, path)


def main():
    if sys.argv[1:] == ["--list"]:
        print(*crates(), sep="\n")
        return
    where, options = sys.argv[1], sys.argv[2:]
    if where == "crates":
        publish_crates(options)
    elif where == "npm":
        publish_npm(options)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
