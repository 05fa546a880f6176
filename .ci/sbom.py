"""Writes the SBOM of each release artefact to target/sbom, as CycloneDX in JSON: the crates it is built from, with their versions, licences and
checksums, as the lock files have them. The npm package and the wheel contain no packages of npm or PyPI. Runs with the tools of `.ci/tools`.
"""

import json
import pathlib
import subprocess
import sys
import tomllib

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "sbom"
VERSION = SchemaVersion.V1_6
# The artefact, its workspace, and the packages in it.
ARTEFACTS = [
    ("keyfold", ".", ["keyfold-cli", *(f"keyfold-{path.name}" for path in (ROOT / "functions").iterdir())]),
    ("keyfold-npm", "bindings/node", ["keyfold-node"]),
    ("keyfold-wheel", "bindings/python", ["keyfold-python"]),
]


def metadata(workspace):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", ROOT / workspace / "Cargo.toml"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def component(package, checksums):
    """A crate. Only crates of the registry have a package URL and a checksum."""
    name, version = package["name"], package["version"]
    licence = (package["license"] or "").replace("/", " OR ")
    published = package["source"] is not None
    return Component(
        name=name, version=version, bom_ref=f"{name}@{version}", type=ComponentType.LIBRARY,
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
        purl=PackageURL("cargo", name=name, version=version) if published else None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksums[name, version])] if published else [],
    )


def bom(artefact, workspace, names):
    """The artefact, and each crate that its packages need to run or to be built."""
    found = metadata(workspace)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    lock = tomllib.loads((ROOT / workspace / "Cargo.lock").read_text())
    checksums = {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}
    roots = [id for id, package in packages.items() if package["name"] in names and package["source"] is None]
    assert len(roots) == len(names), (artefact, names)
    needs, waiting = {}, list(roots)
    while waiting:
        id = waiting.pop()
        if id not in needs:
            needs[id] = [dep["pkg"] for dep in nodes[id]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
            waiting += needs[id]
    components = {id: component(packages[id], checksums) for id in needs}
    whole = Component(name=artefact, version=packages[roots[0]]["version"], type=ComponentType.APPLICATION)
    made = Bom(components=components.values())
    made.metadata.component = whole
    made.register_dependency(whole, [components[id] for id in roots])
    for id, needed in needs.items():
        made.register_dependency(components[id], [components[other] for other in needed])
    return made


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for artefact, workspace, names in ARTEFACTS:
        made = bom(artefact, workspace, names)
        text = make_outputter(made, OutputFormat.JSON, VERSION).output_as_string(indent=1)
        wrong = JsonStrictValidator(VERSION).validate_str(text)
        if wrong:
            sys.exit(f"{artefact}: the SBOM is not valid CycloneDX: {wrong}")
        (OUT / f"{artefact}.cdx.json").write_text(text)
        print(f"{artefact}.cdx.json: {len(made.components)} crates")


main()
