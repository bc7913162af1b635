"""A Python client that is not ours, `mcp` or `fastmcp`, whichever is installed: goes through the cases and
prints what came of each as one JSON object.

usage: calls.py ERA SERVER
  ERA     auto (the newest both sides speak) or legacy
  SERVER  a URL, or a JSON list with the command of a stdio server

The case `restart` prints a line `restart` and goes on when a line arrives on stdin: in between the server is
killed and started again, while the person has not answered yet.
"""

import asyncio
import importlib.metadata
import json
import sys

try:
    import fastmcp

    NAME = "fastmcp"
except ImportError:
    NAME = "mcp"

ERROR = "dev.onecall/error"


class Person:
    """Answers questions the way a case wants it."""

    def __init__(self):
        self.action = "accept"
        self.wait = 0.0
        self.meanwhile = None

    async def answer(self):
        # A question may be given up on while it is still answered, and the next case must not change it.
        action, wait, meanwhile = self.action, self.wait, self.meanwhile
        await asyncio.sleep(wait)
        if meanwhile:
            await meanwhile()
        return action


def connect(server, era, person):
    if NAME == "fastmcp":
        from fastmcp.client.elicitation import ElicitResult
        from fastmcp.client.transports import StdioTransport

        async def handle(message, response_type, params, context):
            action = await person.answer()
            return ElicitResult(action=action, content={"ok": True} if action == "accept" else None)

        target = server
        if server.startswith("["):
            command, *args = json.loads(server)
            target = StdioTransport(command=command, args=args)
        return fastmcp.Client(target, mode=era, elicitation_handler=handle)

    from mcp import Client, StdioServerParameters, types

    async def handle(context, params):
        action = await person.answer()
        content = {"ok": True} if action == "accept" else None
        return types.ElicitResult(action=action, content=content)

    target = server
    if server.startswith("["):
        command, *args = json.loads(server)
        target = StdioServerParameters(command=command, args=args)
    return Client(target, mode=era, elicitation_callback=handle)


async def call(client, tool, arguments, on_progress=None):
    """The code of the failure, or the structured result."""
    if NAME == "fastmcp":
        result = await client.call_tool(tool, arguments, progress_handler=on_progress, raise_on_error=False)
    else:
        result = await client.call_tool(tool, arguments, progress_callback=on_progress)
    meta = getattr(result, "meta", None) or {}
    if result.is_error:
        return (meta.get(ERROR) or {}).get("code", "an error without a code")
    return result.structured_content


async def restart():
    print("restart", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def main():
    era, server = sys.argv[1:3]
    person = Person()
    cases = {}
    async with connect(server, era, person) as client:
        listed = await client.list_tools()
        tools = getattr(listed, "tools", listed)
        cases["list"] = sorted(tool.name for tool in tools if "_" not in tool.name)

        seen = []

        async def on_progress(progress, total, message):
            seen.append(progress)

        cases["call"] = await call(client, "greet", {"who": "Ada"})
        await call(client, "slowly", {}, on_progress)
        cases["progress"] = len(seen) > 1 and seen == sorted(set(seen))
        for action in ("accept", "decline", "cancel"):
            person.action = action
            cases[action] = await call(client, "ship", {})
        person.action, person.wait = "accept", 2.0
        cases["timeout"] = await call(client, "hurry", {})
        person.wait = 0.0
        if era != "legacy" and not server.startswith("["):
            person.meanwhile = restart
            cases["restart"] = await call(client, "ship", {})
        version = getattr(client, "protocol_version", None)
        if version is None:
            version = client.session.protocol_version
    print(
        json.dumps(
            {
                "client": NAME,
                "version": importlib.metadata.version(NAME),
                "protocol": str(version),
                "cases": cases,
            }
        )
    )


asyncio.run(main())
