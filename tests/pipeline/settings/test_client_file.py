"""The file in which an MCP client lists its servers: recognised by its content, a source for each server."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import CatalogSettings, SourceSettings, load, with_provider
from pipeline.sources.naming import name_of
from pipeline.sources.transport.access import Access, resolve_access
from pipeline.sources.transport.approval import permissions_of, run_permission

Write = Callable[..., CatalogSettings]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and loads the catalog that it is."""

    def write(value: Any, name: str = "mcp.json") -> CatalogSettings:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        content = (
            value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        )
        path.write_bytes(content)
        return load(path, environment={})

    return write


def access(write: Write, server: dict[str, Any], **file: str) -> Access:
    """What the one server of a file is asked with."""
    (source,) = write({"mcpServers": {"mail": server}}, **file).source
    return resolve_access(source)


MAIL = {"command": "npx", "args": ["-y", "@acme/mail-mcp"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("claude_desktop_config.json", {"mcpServers": {"mail": MAIL}}),
        (".mcp.json", {"mcpServers": {"mail": {**MAIL, "type": "stdio"}}}),
        ("cline_mcp_settings.json", {"mcpServers": {"mail": {**MAIL, "alwaysAllow": ["x"], "disabled": False}}}),
        ("servers.json", {"servers": {"mail": MAIL}, "inputs": [{"id": "key", "type": "promptString"}]}),
        ("user.json", {"mcp": {"servers": {"mail": MAIL}, "inputs": []}}),
        ("dotted.json", {"mcp.servers": {"mail": MAIL}}),
        ("copilot.json", {"mcpServers": {"mail": {**MAIL, "tools": ["*"]}}}),
        (
            "notes.jsonc",
            '// it\n{"mcpServers": {"mail": {/* one */ "command": "npx", "args": ["-y", "@acme/mail-mcp",],},},}',
        ),
        ("bom.json", b"\xef\xbb\xbf" + json.dumps({"mcpServers": {"mail": MAIL}}).encode()),
        ("wide.json", json.dumps({"mcpServers": {"mail": MAIL}}).encode("utf-16")),
    ],
)
def test_a_clients_file_is_known_by_its_content(write: Write, name: str, value: Any, tmp_path: Path) -> None:
    settings = with_provider(write(value, name), None)
    (source,) = pickle.loads(pickle.dumps(settings)).source
    assert source.client == settings.source[0].client is not None
    assert (source.provider, source.command, source.cwd) == ("mail", ("npx", "-y", "@acme/mail-mcp"), tmp_path)
    assert source.is_live_server and name_of(source) == "mail"


@pytest.mark.parametrize(
    "value",
    [
        {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {}},
        {"asyncapi": "3.0.0", "servers": {"a": {"url": "mqtt://a"}}},
        {"openapi": "3.1.0", "x-docs": {"mcpServers": {"mail": MAIL}}},
        {"mcpServers": {"mail": {"command": "x", "tools": [{"name": "send"}]}}},
        {"servers": {"mail": {"tools": [{"name": "send"}]}}},
        {"mcpServers": ["mail"]},
        [{"name": "send", "description": 'as in "mcpServers"'}],
        '{"name": "a \\"mcpServers\\" b", ',
        b'{"servers": \xff',
    ],
)
def test_another_document_stays_the_source_that_it_is(write: Write, value: Any) -> None:
    (source,) = write(value).source
    assert source.path == Path("mcp.json") and source.client is None


def test_a_source_of_a_catalog_that_names_the_file_stands_for_its_servers(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"a": MAIL, "b": {"url": "https://b.example/mcp"}}}))
    entry = '[[source]]\npath = "mcp.json"\n'
    (tmp_path / "catalog.toml").write_text(f'{entry}timeout_s = 90\n[[source]]\npath = "tools.jsonl"\n')
    sources = load(tmp_path, environment={}).source
    assert [name_of(source) for source in sources] == ["a", "b", "tools.jsonl"]
    assert [source.timeout_s for source in sources] == [90, 90, 30]
    (tmp_path / "catalog.toml").write_text(f'{entry}format = "function"\n')
    assert len(load(tmp_path, environment={}).source) == 1
    (tmp_path / "catalog.toml").write_text(f'{entry}provider = "x"\n')
    with pytest.raises(SettingsInvalid, match="its servers are the providers: leave `provider`"):
        load(tmp_path, environment={})


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("${KEY}", "s3"),
        ("Bearer ${env:KEY}", "Bearer s3"),
        ("${input:api-key}", "asked"),
        ("${UNSET:-none}", "none"),
        ("${KEY:-none}", "s3"),
        ("${UNSET:-}", ""),
        ("a$b", "a$b"),
    ],
)
def test_placeholders_are_filled_from_the_environment_when_a_server_is_asked(
    write: Write, monkeypatch: pytest.MonkeyPatch, written: str, filled: str
) -> None:
    monkeypatch.setenv("KEY", "s3")
    monkeypatch.setenv("API_KEY", "asked")
    local = access(write, {"command": "run", "args": [written], "env": {"K": written}})
    assert (local.command, local.env) == (("run", filled), {"K": filled})
    assert access(write, {"url": "https://a.example", "headers": {"K": written}}).headers == {"K": filled}
    assert "s3" not in repr(local)


def test_a_clients_own_places_are_read(write: Write, tmp_path: Path) -> None:
    server = {
        "command": "${workspaceFolder}${/}run",
        "args": ["${userHome}"],
        "cwd": "work",
        "env": {"PORT": 80, "N": None},
    }
    (source,) = write({"servers": {"mail": server}}, ".vscode/mcp.json").source
    assert source.command == (f"{tmp_path}/run", str(Path.home())) and source.cwd == tmp_path / "work"
    assert resolve_access(source).env == {"PORT": "80"}
    base = access(write, {"httpUrl": "${BASE:-https://a.example}/mcp", "url": "https://a.example/sse"})
    assert base.url == "https://a.example/mcp"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"type": "sse", "url": "https://a.example/sse"}, "mcp-remote"),
        ({"type": "ws", "url": "wss://a.example"}, "its type is 'ws': it must be stdio or http"),
        ({"command": "a", "url": "https://b"}, "a server has either a command or a url"),
        ({"command": 5}, "command must be a text"),
        ({"command": "a", "args": "-y"}, "args must be a list"),
        ({"command": "a", "args": [{}]}, "args.1 must be a text"),
        ({"command": "a", "env": ["K"]}, "env must be an object"),
        ({"command": "a", "env": {"K": "${file}/${x"}}, "'${' must be followed"),
        ({"command": "a", "env": {"K": "${command:ask}"}}, "env.K has ${command:ask}, which only its client fills in"),
        ({"command": "a", "envFile": ".env"}, "envFile is not read"),
        ({"command": "a", "timeout_s": 0}, "timeout_s"),
        ({"command": "a", "cwd": "${DIR}/x"}, "cwd takes no variable beside ${workspaceFolder}"),
        ({"command": "a", "cwd": "~no-such-user/x", "args": ["${NO_SUCH}"]}, "NO_SUCH, which is not set"),
        ({"command": "a", "includeTools": 3}, "includeTools must be a list of names"),
        ({"url": "https://a", "headers": {"K": "sk-secret\n"}}, "it holds a control character"),
        ({"command": "a", "env": {"K": "${input:mail-key}"}}, "needs the environment variable MAIL_KEY"),
        ("npx", "it is not an object"),
    ],
)
def test_a_server_that_cannot_be_used_is_told_by_its_name_and_loses_no_other(
    write: Write, server: Any, why: str
) -> None:
    bad, good = write({"mcpServers": {"one": server, "mail": MAIL}}).source
    assert resolve_access(good).command == ("npx", "-y", "@acme/mail-mcp") and name_of(bad) == "one"
    with pytest.raises(RunAborted) as refused:
        resolve_access(bad)
    assert why in str(refused.value) and "'one'" in str(refused.value) and "sk-secret" not in str(refused.value)


def test_a_server_that_is_switched_off_is_left_out_and_told(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    (source,) = write({"mcpServers": {"a": {**MAIL, "disabled": True}, "mail": MAIL}}).source
    assert source.provider == "mail" and "1 of 2 servers are disabled there, and left out: ['a']" in caplog.text


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"mcpServers": {}}, "names no MCP server"),
        ({"mcpServers": {"a": {**MAIL, "disabled": True}}}, "names no MCP server that is not disabled"),
        ('{"mcpServers": {"a": }}', "is not readable JSON"),
        ('{"mcpServers": ' + "[" * 100_000, "is not readable JSON: nested too deeply"),
        ('{"mcpServers": {"a": {"command": ' + '{"x":' * 300 + "1" + "}" * 303, "is not readable JSON: nested"),
        ('{"mcpServers": {}' + "/*" * 1_000_000, "is not readable JSON"),
    ],
)
def test_a_file_that_names_no_server_is_refused(write: Write, value: Any, why: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"mcp\.json") as refused:
        write(value)
    assert why in str(refused.value)


def test_a_large_file_is_read_in_time(write: Write) -> None:
    history = {"history": ["a // b, ]" * 20] * 50_000}
    assert len(write({**history, "mcpServers": {f"s{n}": MAIL for n in range(1_000)}}).source) == 1_000
    hostile = {"": MAIL, "a\x1b[2J": MAIL, "n" * 1_000_000: MAIL}
    for source in write({"mcpServers": hostile}).source:
        assert source.client and source.client.refusal and len(name_of(source)) <= 100 and name_of(source).isprintable()


def test_which_variable_goes_to_which_server_is_part_of_the_approval(write: Write) -> None:
    def keys(server: dict[str, Any]) -> list[str]:
        return [one.key for one in permissions_of(write({"mcpServers": {"mail": server}}))]

    mappings = [{"K": "${A}"}, {"K": "${B}"}, {"K": "${A}", "L": "${B}"}, {"K": "${A:-x}"}, {}]
    assert len({tuple(keys({**MAIL, "env": mapping})) for mapping in mappings}) == len(mappings)
    remote = [{"url": f"https://{host}/mcp", "headers": row} for host in ("a", "b") for row in mappings[:3]]
    assert len({tuple(keys(server)) for server in remote}) == len(remote)
    assert keys({"url": "https://a/mcp", "headers": {"K": "plain"}}) == []
    secret = {"url": "https://u:sk-secret@a/mcp?k=sk-secret&t=${T}"}
    assert [*map(str, permissions_of(write({"mcpServers": {"mail": secret}})))] == [
        'send T of the environment to "https://a"'
    ]
    mail = {**MAIL, "env": {"K": "x${A}", "L": "sk-secret"}}
    (shown,) = map(str, permissions_of(write({"mcpServers": {"mail": mail}})))
    assert shown.endswith("with K, L, from the environment A") and "sk-secret" not in shown


def test_a_catalogs_own_command_is_as_it_stands_there(tmp_path: Path) -> None:
    source = SourceSettings(command=("sh", "-c", "echo ${HOME}"), cwd=Path("work"))
    assert resolve_access(source).command == ("sh", "-c", "echo ${HOME}")
    assert str(run_permission(source.command or (), tmp_path)).endswith(f"in {tmp_path}")
    assert CatalogSettings(name="a", folder=tmp_path, source=(source,)).folder_of(source) == tmp_path / "work"
