"""What one source may cost a build."""

from pydantic import Field

from pipeline.settings.base import Section


class LimitsSettings(Section):
    """The most that one source may cost a build: strangers write what it holds.

    The defaults are several times what the largest real sources need. A record that exceeds a limit is rejected, and a
    text shortened; a document or server that exceeds one cannot be read. Each is told with the limit's name.
    """

    document_bytes: int = Field(64_000_000, ge=1_000)
    """Bytes of a document, of what an MCP server answers in all, and of what an OpenAPI document's schemas come to when
    each tool has those that it refers to. YAML aliases count as often as they are used."""
    document_values: int = Field(2_000_000, ge=100)
    """Values of a JSON or YAML document: objects, lists, texts, numbers. YAML aliases count as often as they are
    used."""
    message_bytes: int = Field(16_000_000, ge=1_000)
    """Bytes of one message of an MCP server."""
    pages: int = Field(10_000, ge=1)
    """Pages of an MCP server's list of tools."""
    redirects: int = Field(10, ge=0)
    """Redirects that are followed to a document."""
    tools: int = Field(100_000, ge=1)
    """Tools of a source."""
    source_bytes: int = Field(256_000_000, ge=1_000)
    """Bytes of all tools of a source, each as JSON."""
    record_characters: int = Field(1_000_000, ge=1_000)
    """Characters of one tool as JSON, and of one line of a JSONL file. A longer one is rejected."""
    name_characters: int = Field(500, ge=1)
    """Characters of a tool's name, id or provider. A tool with a longer one is rejected."""
    text_characters: int = Field(50_000, ge=100)
    """Characters of a description. A longer one is shortened."""
    listed_texts: int = Field(1_000, ge=1)
    """Examples of a tool, and its categories. What exceeds them is left out."""
    schema_characters: int = Field(100_000, ge=100)
    """Characters of the schemas that one operation of an OpenAPI document refers to. What exceeds them is left open:
    any value fits it."""
