"""The sources of a catalog: where each is, in which format, what it is asked with, and what it may cost."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from pydantic import AfterValidator, Field, PrivateAttr, field_validator, model_validator

from pipeline.settings.access import Address, Command, Environment, Headers, OAuthSettings
from pipeline.settings.base import Duration, Section

# Their readers are in `pipeline.sources.formats`; a test holds both equal.
SourceFormat = Literal["function", "openapi", "mcp", "jsonl", "skills"]


def _module(name: str) -> str:
    module, colon, attribute = name.partition(":")
    if not all(map(str.isidentifier, [*module.split("."), *([attribute] if colon else [])])):
        raise ValueError(f"{name!r} is neither package.module nor package.module:name")
    return name


_FUNCTIONS = frozenset(Functions.FUNCTION_TABLE)


class FieldSettings(Section):
    """JMESPath expressions by field, each over one record. A field without one is read as in any other source."""

    servers: str | None = None
    """The servers that offer tools, in the whole document."""
    tools: str | None = None
    """The records: in each server where `servers` is set, else in the whole document."""
    name: str | None = None
    """The tool's name."""
    description: str | None = None
    """Its description."""
    parameters: str | None = None
    """Its parameters, in any shape that a build reads."""
    provider: str | None = None
    """Its provider; looked up in the record, then in its server."""
    category: str | None = None
    """Its category."""
    id: str | None = None
    """Its id, in place of `<provider>/<name>`."""
    examples: str | None = None
    """Its examples."""

    @field_validator("*")
    @classmethod
    def _is_an_expression(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            nodes = list(_nodes(jmespath.compile(value).parsed))
        except (JMESPathError, RecursionError) as error:
            why = " ".join(str(error).split("for expression:")[0].split()).removeprefix("Invalid jmespath expression: ")
            why = why.encode("utf-8", "backslashreplace").decode()  # pydantic takes no half of a surrogate pair
            raise ValueError(f"{value[:60]!r} is not a JMESPath expression: {why}") from None
        if any(node["type"] == "slice" and node["children"][2] == 0 for node in nodes):
            raise ValueError(f"{value!r} has a slice with the step 0: leave the step out")
        if unknown := [name for name in _names(nodes, "function_expression") if name not in _FUNCTIONS]:
            known = ", ".join(sorted(_FUNCTIONS))
            raise ValueError(f"{value!r} calls {unknown[0]}(), which JMESPath does not have: it has {known}")
        return value

    def of_a_record(self) -> dict[str, str]:
        """Return the expressions over a record, by field."""
        return {field: value for field, value in self if value and field not in ("servers", "tools", "provider")}

    def keys(self) -> set[str]:
        """Return the keys that the expressions name."""
        return {key for _, value in self if value for key in _names(_nodes(jmespath.compile(value).parsed), "field")}


def _nodes(parsed: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the nodes of a parsed expression. A slice's children are numbers, or None."""
    waiting = [parsed]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in reversed(node["children"]) if isinstance(child, Mapping)]


def _names(nodes: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    return [node["value"] for node in nodes if node["type"] == kind]


@dataclass(frozen=True, slots=True)
class ClientServer:
    """What the file of an MCP client says of a server beside a source's settings.

    `bounds` are what it may cost when its tools are called; `include` and `exclude` its tools by name. `refusal` says
    why it cannot be used.
    """

    bounds: Mapping[str, Any] = field(default_factory=dict)
    include: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()
    refusal: str = ""

    def offers(self, name: str) -> bool:
        """Return whether a tool is one that the client would use."""
        return (self.include is None or name in self.include) and name not in self.exclude


class SourceSettings(Section):
    """One source of a catalog: a file (`path`) or many, the functions of a `python` module, or what a `command` or
    `url` gives at each build.

    A file in which an MCP client lists its servers, such as `mcp.json`, stands for a source for each of them.

    Without a format, or as "mcp", a command (over stdio) or url is a live MCP server; as any other format, the
    command's standard output, or the body of the GET, is a document of that format. `fields` maps a document of another
    shape.

    `headers` go only to the `url`, `env` to the `command`; in their values, in `oauth` and in `url` the environment
    fills in `${VARIABLE}` when the source is read.
    """

    format: SourceFormat | None = None
    """The source format; by default the content decides."""
    path: Path | None = None
    """A file, or a folder or pattern of files, such as `registry/**/*.json`: each is then a source of its own. Exactly
    one of `path`, `python`, `command` and `url` is set."""
    python: Annotated[str, AfterValidator(_module)] | None = None
    """A module, `package.module`, whose public functions, or those in its `__all__`, are the tools; with `:name`, one
    function or a list of tools there. It is imported at each build, in a process of its own, once it is allowed."""
    command: Command | None = None
    """A program and its arguments: a live MCP server, or one that prints a document."""
    cwd: Path | None = None
    """The folder in which the `command` runs; by default the catalog's."""
    url: Address | None = None
    """An address: a live MCP server, or a document."""
    provider: str | None = None
    """The label of these tools. It wins over the vendor's own and starts every id. `{folder}` stands for the folder's
    name of a file, `{file}` for its own without the ending."""
    fields: FieldSettings | None = None
    """Where the parts of a tool stand in a document of another shape."""
    prompts: bool = False
    """Read the prompts of a live MCP server too, as records of kind `prompt`."""
    timeout_s: float = Field(30.0, gt=0)
    """Seconds until a command, a module or an address counts as unreadable."""
    headers: Headers = Field(default_factory=dict)
    """Headers of each request to the `url`; `${VARIABLE}` is filled in from the environment."""
    env: Environment = Field(default_factory=dict)
    """Variables for the `command` or `python`; `${VARIABLE}` is filled in from the environment, of which it gets only
    what programs need (PATH, HOME, the language, …): `TOKEN = "${TOKEN}"` hands one on."""
    oauth: OAuthSettings | None = None
    """OAuth at a remote MCP server."""
    redirect_hosts: tuple[str, ...] = ()
    """Hosts, beside the `url`'s own server, that redirects and next pages may lead to, without headers and users."""
    private_hosts: tuple[str, ...] = ()
    """Hosts that may have an address of this machine or of a private network. The `url`'s own host needs no mention
    where it can have no other: an IP address, `localhost`, a name without a dot or under `.local` or `.internal`."""

    _client: ClientServer | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_place(self) -> "SourceSettings":
        if sum(place is not None for place in (self.path, self.python, self.command, self.url)) != 1:
            raise ValueError("a source has exactly one of path, python, command and url")
        if self.python is not None and (self.format or self.fields):
            raise ValueError(f"{'format' if self.format else 'fields'} is for a document: python names functions")
        marks = set(re.findall(r"\{\w*\}", self.provider or ""))
        if marks and (self.path is None or not marks <= {"{folder}", "{file}"}):
            raise ValueError(f"provider {self.provider!r} is not filled in: {{folder}} and {{file}} are, of a path")
        if self.fields is not None and (self.format == "openapi" or self.is_live_server):
            what = "an OpenAPI document says itself" if self.format == "openapi" else "a live MCP server says itself"
            raise ValueError(f"fields map a document of another shape: {what} where everything is")
        return self

    @model_validator(mode="after")
    def _asked_with(self) -> "SourceSettings":
        if (self.headers or self.oauth) and self.url is None:
            raise ValueError(f"{'headers' if self.headers else 'oauth'} are for a url")
        if self.cwd and self.command is None:
            raise ValueError("cwd is for a command")
        if self.env and not (self.command or self.python):
            raise ValueError("env is for a command or python")
        if self.oauth and not self.is_live_server:
            raise ValueError("oauth is for an MCP server: send another document's token in headers")
        if self.oauth and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("the header Authorization is what oauth gives: leave one of the two out")
        if self.prompts and not self.is_live_server:
            raise ValueError("prompts are asked of a live MCP server: a saved prompts/list answer is read as it is")
        return self

    @property
    def is_live_server(self) -> bool:
        """Return whether it is an MCP server to be asked, not a document."""
        return self.path is None and self.python is None and self.format in (None, "mcp")

    @property
    def client(self) -> ClientServer | None:
        """Return what the file of an MCP client says beside; None for a source that a catalog itself names."""
        return self._client

    def of_client(self, server: ClientServer) -> "SourceSettings":
        """Return the source as one that the file of an MCP client names."""
        source = self.model_copy()
        source._client = server
        return source


class SourcesSettings(Section):
    """How all sources are read."""

    skip_unreadable: bool = False
    """Go on without a source that cannot be read (`--skip-unreadable`); `publish.max_skipped_share` counts it."""
    run_commands: bool = True
    """Run the commands of sources, and import their Python modules. False (`--no-commands`) runs none: such a source
    keeps its last known records, or is left out; so does one that would send a variable which is not allowed yet. True
    permits nothing: a new command must be allowed by whoever builds."""
    max_age: Duration = timedelta(days=7)
    """How long a source that cannot be read keeps the records of its last good read, such as "12h" or "7d"; 0 never. A
    source that is older stops the build, or is skipped."""


class LimitsSettings(Section):
    """The most that one source may cost a build: strangers write what it holds.

    The defaults are several times what the largest real sources need. A record that exceeds a limit is rejected, and a
    text shortened; a document or server that exceeds one cannot be read. Each report names the limit.
    """

    files: int = Field(10_000, ge=1)
    """Files of one folder or pattern."""
    document_bytes: int = Field(64_000_000, ge=1_000)
    """Bytes of a document, of what a remote MCP server answers in all, and of what an OpenAPI document's schemas come
    to when each tool has those that it refers to. YAML aliases count as often as they are used."""
    document_values: int = Field(2_000_000, ge=100)
    """Values of a JSON or YAML document: objects, lists, texts, numbers. YAML aliases count as often as they are
    used."""
    referenced_files: int = Field(10_000, ge=0)
    """Files that an OpenAPI document is split into, followed by its references; all together have at most
    `document_bytes`. 0 follows none."""
    message_bytes: int = Field(16_000_000, ge=1_000)
    """Bytes of one message of a remote MCP server."""
    pages: int = Field(10_000, ge=1)
    """Pages of a list of tools: an MCP server's, or a `url`'s."""
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
