"""An MCP server of three tools over stdio: the upstream of this example. Put servers of your own in its place."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")
notes: list[str] = []


@server.tool()
def write_note(text: str) -> str:
    """Write a note down."""
    notes.append(text)
    return f"note {len(notes)} is written"


@server.tool()
def read_notes(containing: str = "") -> list[str]:
    """Read all notes, or those that contain some text."""
    return [note for note in notes if containing.casefold() in note.casefold()]


@server.tool()
def delete_note(number: int) -> str:
    """Delete a note by its number, from 1."""
    return f"deleted: {notes.pop(number - 1)}"


if __name__ == "__main__":
    server.run("stdio")
