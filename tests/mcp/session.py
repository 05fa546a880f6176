#!/usr/bin/env python3
"""Runs every tool of `keyfold mcp` with the official Python SDK, in both protocol versions, against `keyfold local`, and writes a transcript.

Usage: session.py KEYFOLD TRANSCRIPT
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from mcp import Client, StdioServerParameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ["describe_model", "explain", "ask", "query", "budget", "retrofit_status"]
MODES = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
#: Lines of an answer that the transcript shows.
SHOWN_LINES_MAX = 24


def start_local(keyfold, folder):
    """`keyfold local` with the sample manifest, and its endpoint."""
    words = [keyfold, "--json", "local", "--port", "0", "--api-port", "0"]
    local = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    text = ""
    for line in local.stdout:
        text += line
        if line == "}\n":
            break
    return local, json.loads(text)["dynamodb"]


class Session:
    """A client with its transcript."""

    def __init__(self, client, lines):
        self.client, self.lines = client, lines

    async def tool(self, name, arguments, is_error=False):
        result = await self.client.call_tool(name, arguments)
        text = json.loads(result.content[0].text)
        assert result.is_error == is_error, (name, arguments, text)
        assert is_error or result.structured_content == text, name
        shown = json.dumps(text, indent=2).splitlines()
        cut = shown[:SHOWN_LINES_MAX] + (["..."] if len(shown) > SHOWN_LINES_MAX else [])
        self.lines += [f"> {name} {json.dumps(arguments)}", *cut, ""]
        return text


async def run(parameters, mode, lines):
    async with Client(parameters, mode=mode) as client:
        assert client.protocol_version == MODES[mode], client.protocol_version
        lines += [f"# protocol {client.protocol_version}", ""]
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        assert all(tool.annotations.read_only_hint and tool.output_schema for tool in tools)
        session = Session(client, lines)
        model = await session.tool("describe_model", {"table": "audit"})
        explained = await session.tool("explain", {"table": "audit", "where": {"accessedBy": "joe1", "action": "viewed"}})
        assert explained["plan"]["reads"][0]["source"] == "index byUserAction", explained
        what = {"question": "whatDidUserDo", "parameters": {"accessedBy": "joe1", "action": "viewed"}, "limit": 2}
        first = await session.tool("ask", what)
        rest, page = list(first["items"]), first.get("page")
        while page:
            answer = await session.tool("ask", {**what, "page": page})
            rest, page = rest + answer["items"], answer.get("page")
        assert len(rest) >= 3 and all(item["accessedBy"] == "joe1" for item in rest), rest
        await session.tool("query", {"table": "audit", "where": {"id": "111aaa"}, "select": ["resourceName", "timestamp"]})
        refused = await session.tool("query", {"table": "audit", "where": {"resourceName": "Thing1"}}, is_error=True)
        assert refused["code"] == "needs-scan"
        hidden = await session.tool("query", {"table": "audit", "where": {"id": "111aaa"}, "select": ["client"]}, is_error=True)
        assert hidden["code"] == "attribute-hidden"
        await session.tool("retrofit_status", {"retrofit": "auditV2"})
        budget = await session.tool("budget", {})
        assert 0 < budget["consumed"]["readUnits"] < 20, budget
        assert "192.0.2.1" not in "\n".join(lines), "the hidden attribute was told"


def main():
    keyfold, transcript = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "keyfold.toml").write_text((ROOT / "keyfold.toml").read_text())
        local, endpoint = start_local(keyfold, folder)
        try:
            # One sample event is incomplete on purpose.
            events = (ROOT / "examples/audit/items.jsonl").read_text().splitlines()
            items = pathlib.Path(folder) / "items.jsonl"
            items.write_text("\n".join(event for event in events if "action" in json.loads(event)))
            at = ["--endpoint", endpoint]
            subprocess.run([keyfold, *at, "load", "audit", str(items)], cwd=folder, check=True, capture_output=True)
            words = [*at, "mcp", "--hide", "client", "--state", os.path.join(folder, "state")]
            parameters = StdioServerParameters(command=keyfold, args=words, cwd=folder)
            for mode in MODES:
                asyncio.run(run(parameters, mode, lines))
        finally:
            local.terminate()
            local.wait()
    transcript.write_text("\n".join(lines))
    print(f"{len(TOOLS)} tools in {len(MODES)} protocol versions; the transcript is in {transcript}")


main()
