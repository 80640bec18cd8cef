"""One tool in a vendor's words → RawTool: OpenAI's and Anthropic's function schemas, MCP's rows of `tools/list`."""

from router.definitions.raw_tool import Fields, RawTool
from router.record import Origin


def function_tool(row: object, origin: Origin) -> RawTool:
    """A function schema: bare `{"name", "description", "parameters"}`, Anthropic's with `input_schema`, OpenAI's
    `{"type": "function", "function": {…}}` and its flat Responses form. Raises RecordRejected, naming the field."""
    outer = Fields(row, origin)
    fields = Fields(outer.row["function"], origin) if "function" in outer.row else outer
    return RawTool(
        name=fields.name(),
        origin=origin,
        description=fields.text("description"),
        input_schema=fields.mapping(_schema_key(fields, "parameters")),
        examples=tuple(fields.texts("input_examples")) + fields.texts("examples"),
        annotations={"strict": True} if fields.row.get("strict") is True else {},
    )


def mcp_tool(row: object, origin: Origin, server: str | None) -> RawTool:
    """A row of an MCP server's list; its title stands for a description where it has none. Raises RecordRejected."""
    fields = Fields(row, origin)
    annotations = fields.mapping("annotations")
    title = fields.text("title") or annotations.get("title")
    return RawTool(
        name=fields.name(),
        origin=origin,
        description=fields.text("description") or (title if isinstance(title, str) else ""),
        input_schema=fields.mapping(_schema_key(fields, "inputSchema")),
        provider=server,
        annotations={**annotations, **({"title": title} if title else {})},
    )


def _schema_key(fields: Fields, own: str) -> str:
    """Under which name a vendor has the schema: its own, or another's."""
    return next((key for key in (own, "parameters", "input_schema", "inputSchema") if fields.row.get(key)), own)
