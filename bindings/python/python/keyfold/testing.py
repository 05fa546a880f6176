"""Fixtures for pytest: an embedded DynamoDB with the tables of your manifest, started by `keyfold local`.

Installed with the package as a plugin of pytest. `keyfold_client` is a client of boto3; the tables are empty at the start of each
test. Options of pytest.ini: `keyfold_manifest` (default `keyfold.toml`) and `keyfold_command` (default `keyfold`).
"""

from __future__ import annotations

import importlib
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

from ._keyfold import Keyfold

#: How long `keyfold local` may take to start.
START_SECONDS = 30.0


@dataclass(frozen=True)
class Local:
    """A running `keyfold local`."""

    endpoint: str
    tables: Keyfold

    @property
    def access(self) -> Dict[str, str]:
        """The arguments of a client or resource of boto3."""
        secret = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}
        return {"endpoint_url": self.endpoint, **secret}

    def empty(self, client: Any) -> None:
        """Deletes all items of all tables."""
        for table in self.tables.described():
            names = {f"#{number}": name for number, name in enumerate(table["key"])}
            arguments = {"TableName": table["name"], "ExpressionAttributeNames": names}
            for page in client.get_paginator("scan").paginate(**arguments, ProjectionExpression=", ".join(names)):
                for key in page["Items"]:
                    client.delete_item(TableName=table["name"], Key=key)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("keyfold_manifest", "the manifest whose tables `keyfold local` has", default="keyfold.toml")
    parser.addini("keyfold_command", "the command `keyfold`", default="keyfold")


@contextmanager
def local(manifest: Path, command: str = "keyfold") -> Iterator[Local]:
    """A `keyfold local` with the tables of a manifest, empty at the start, for the duration of a `with`."""
    port = _free_port()
    arguments = [command, "--manifest", str(manifest), "local", "--port", str(port), "--api-port", "0"]
    running = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _wait_for(port, running)
        yield Local(f"http://127.0.0.1:{port}", Keyfold(manifest))
    finally:
        running.terminate()
        running.communicate()


@pytest.fixture(scope="session")
def keyfold_local(pytestconfig: pytest.Config) -> Iterator[Local]:
    """A `keyfold local` for the whole session."""
    manifest = Path(pytestconfig.rootpath, pytestconfig.getini("keyfold_manifest"))
    with local(manifest, pytestconfig.getini("keyfold_command")) as running:
        yield running


@pytest.fixture
def keyfold_client(keyfold_local: Local) -> Any:
    """A client of boto3 for empty tables."""
    boto3 = importlib.import_module("boto3")

    client = boto3.client("dynamodb", **keyfold_local.access)
    keyfold_local.empty(client)
    return client


@pytest.fixture
def keyfold_tables(keyfold_local: Local) -> Keyfold:
    """The tables of the manifest."""
    return keyfold_local.tables


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for(port: int, running: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if running.poll() is not None:
            _, errors = running.communicate()
            raise RuntimeError(f"`keyfold local` ended: {errors.decode(errors='replace')}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"`keyfold local` did not start within {START_SECONDS:.0f} seconds")
