"""A server on the Python SDK whose tools return what its functions commonly return: a scalar and a list."""

from mcp.server import MCPServer

server = MCPServer("shapes", version="1")


@server.tool()
def number() -> int:
    """A scalar, which the SDK wraps."""
    return 7


@server.tool()
def words() -> list[str]:
    """A list, which the SDK splits into blocks."""
    return ["one", "two"]


if __name__ == "__main__":
    server.run("stdio")
