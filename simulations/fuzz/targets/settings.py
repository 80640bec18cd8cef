"""catalog.toml, the environment's settings, and the file that names MCP servers."""

from pathlib import Path

from pipeline.settings import load
from router.errors import SettingsInvalid
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from tests.support.places import ROOT


def _catalog(resources: Resources) -> Run:
    write = resources.file("catalog/catalog.toml")

    def run(data: bytes) -> None:
        path: Path = write(data)
        settings = load(path.parent, environment={})
        assert settings.name and settings.source, "a catalog has no name or no source"
        assert Path(settings.name).name == settings.name, "a catalog's name leads to another folder"

    return run


def _variables(resources: Resources) -> Run:
    resources.file("bare/tools.jsonl")(seeds.lines(seeds.FUNCTIONS))

    def run(data: bytes) -> None:
        row = read_object(data)
        variables = {key: value for key, value in row.items() if isinstance(value, str)}
        load(resources.scratch / "bare", environment=variables)

    return run


def _upstreams(resources: Resources) -> Run:
    write = resources.file("servers.json")

    def run(data: bytes) -> None:
        for source in load(write(data), environment={}).source:
            refused = source.client is not None and bool(source.client.refusal)
            assert refused or bool(source.command) + bool(source.url) + bool(source.path) == 1, "a source has no place"
            assert "secret-value" not in repr(source), "a secret is shown"

    return run


_SERVERS = {
    "mcpServers": {
        "files": {"command": "files-server", "args": ["--root", "/srv"], "env": {"KEY": "${TOKEN}"}, "cwd": "run"},
        "web": {"type": "http", "url": "https://a.example/mcp", "headers": {"X-Key": "${TOKEN}"}, "timeout_s": 5},
    }
}
_TOML = b"""name = "office"
[[source]]
path = "a.json"
format = "mcp"
provider = "files"
[[source]]
url = "https://a.example/openapi.yaml"
headers = {Authorization = "Bearer ${TOKEN}"}
timeout_s = 5
format = "function"
[source.fields]
tools = "apis[]"
name = "label"
[[source]]
command = ["server", "--stdio"]
env = {KEY = "${TOKEN}"}
[enrichment]
model = "m"
parameters = {temperature = 0.2, nested = {a = [1, 2]}}
languages = ["de"]
[retrieval]
recipe = "default"
[publish]
keep = 5
max_failed_share = 0.2
[notify]
command = ["true"]
"""
_VARIABLES = {
    "QUARTERMASTER_PUBLISH__KEEP": "10",
    "QUARTERMASTER_ENRICHMENT__PARAMETERS": '{"temperature": 0}',
    "QUARTERMASTER_ENRICHMENT__LANGUAGES": '["de"]',
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
}
_DEMO = (ROOT / "catalogs" / "demo" / "catalog.toml").read_bytes()
TARGETS = (
    Target("catalog_toml", Form.TOML, (_TOML, _DEMO), _catalog, (SettingsInvalid,)),
    Target("variables", Form.JSON, (seeds.document(_VARIABLES),), _variables, (SettingsInvalid,)),
    Target("upstreams_file", Form.JSON, (seeds.document(_SERVERS),), _upstreams, (SettingsInvalid,)),
)
