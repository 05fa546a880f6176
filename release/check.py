"""Checks that a release can be made of this tree: one version everywhere, a section in CHANGELOG.md, archive names that `cargo binstall` finds.

    python3 release/check.py             what must always be true
    python3 release/check.py --tag v0.1.0   and what must be true of a tagged release
"""

import json
import sys

from names import ROOT, TARGETS, VERSION, archive, toml


def versions():
    """Every place that states the version, by its name."""
    workspace = toml("Cargo.toml")["workspace"]
    found = {"Cargo.toml": workspace["package"]["version"]}
    for name, dependency in workspace["dependencies"].items():
        if isinstance(dependency, dict) and "path" in dependency and "version" in dependency:
            found[f"Cargo.toml, {name}"] = dependency["version"]
    found["cli/Cargo.toml, keyfold-local"] = toml("cli/Cargo.toml")["dependencies"]["keyfold-local"]["version"]
    for path in ["bindings/node/Cargo.toml", "bindings/python/Cargo.toml"]:
        found[path] = toml(path)["package"]["version"]
    found["bindings/python/pyproject.toml"] = toml("bindings/python/pyproject.toml")["project"]["version"]
    found["bindings/node/package/package.json"] = json.loads((ROOT / "bindings/node/package/package.json").read_text())["version"]
    module = (ROOT / "bindings/python/python/keyfold/__init__.py").read_text()
    found["keyfold.__version__"] = module.split('__version__ = "')[1].split('"')[0]
    return found


def archive_of_binstall(target):
    """The name of the archive that `cargo binstall` asks for, by the metadata of the crate."""
    metadata = toml("cli/Cargo.toml")["package"]["metadata"]["binstall"]
    overrides = metadata.get("overrides", {}).get(target, {})
    suffix = {"tgz": ".tgz", "zip": ".zip"}[overrides.get("pkg-fmt", metadata["pkg-fmt"])]
    name = metadata["pkg-url"].rsplit("/", 1)[1]
    for key, value in {"version": VERSION, "target": target, "archive-suffix": suffix}.items():
        name = name.replace("{ " + key + " }", value)
    return name


def problems(tag):
    for place, version in versions().items():
        if version != VERSION:
            yield f"{place} has version {version}, and the workspace has {VERSION}"
    for target in TARGETS:
        if archive_of_binstall(target) != archive(target):
            yield f"cargo binstall asks for {archive_of_binstall(target)}, and the archive is {archive(target)}"
    if tag is None:
        return
    if tag != f"v{VERSION}":
        yield f"the tag is {tag}, and the version {VERSION}"
    if not any(line.startswith(f"## {VERSION} ") for line in (ROOT / "CHANGELOG.md").read_text().splitlines()):
        yield f"CHANGELOG.md has no section `## {VERSION} ...`"
    if "repository" not in toml("Cargo.toml")["workspace"]["package"]:
        yield "Cargo.toml has no `repository` below [workspace.package]: crates.io and cargo binstall need it"


def main():
    tag = sys.argv[2] if sys.argv[1:2] == ["--tag"] else None
    found = list(problems(tag))
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if not found:
        print(f"version {VERSION} in {len(versions())} places, {len(TARGETS)} platforms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
