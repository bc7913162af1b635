"""A client that is not ours: lists the tools of a server, calls one, and prints what it got as JSON.

usage: call.py ERA SERVER TOOL ARGUMENTS
  ERA        auto (the newest both sides speak) or legacy
  SERVER     a URL, or a JSON list with the command of a stdio server
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    era, server, tool, arguments = sys.argv[1:5]
    target = server
    if server.startswith("["):
        command, *args = json.loads(server)
        target = StdioServerParameters(command=command, args=args)
    async with Client(target, mode=era) as client:
        listed = await client.list_tools()
        result = await client.call_tool(tool, json.loads(arguments))
        print(
            json.dumps(
                {
                    "protocol": str(client.protocol_version),
                    "tools": [tool.name for tool in listed.tools],
                    "is_error": bool(result.is_error),
                    "structured": result.structured_content,
                    "texts": [block.text for block in result.content if block.type == "text"],
                }
            )
        )


asyncio.run(main())
