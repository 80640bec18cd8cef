"""A variable of the environment goes to a server once its user has allowed that, and so does a key of a model's."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import load, overrides
from pipeline.sources.transport.approval import permissions_of, require_approved, without_commands
from quartermaster.cli.commands.sources import catalog_upstreams
from tests.pipeline.sources.web import Web, serving
from tests.support.command_line import Done, called

SECRET = "s3cret-v4lue"
TOOLS = '[{"name": "found", "description": "Finds things."}]'
ELSEWHERE = "https://gateway.example/v1"


@pytest.fixture(autouse=True)
def nothing_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("VAULT_KEY", SECRET)


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


def written(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "catalog"
    folder.mkdir(exist_ok=True)
    (folder / "tools.json").write_text(TOOLS, encoding="utf-8")
    (folder / "catalog.toml").write_text(text, encoding="utf-8")
    return folder


def built(folder: Path, *more: str, **variables: str) -> Done:
    return called(folder.parent, "build", folder, "--encoder", "none", "--workspace", folder.parent, *more, **variables)


def asked_of(tmp_path: Path, text: str, **environment: str) -> list[str]:
    settings = load(written(tmp_path, text), environment=environment)
    return [str(permission) for permission in permissions_of(settings)]


def test_neither_a_plan_nor_a_build_sends_a_variable_of_a_source_before_it_is_allowed(tmp_path: Path, web: Web) -> None:
    source = f'url = "{web.page(TOOLS)}?k=${{VAULT_KEY}}"\nheaders = {{X-A = "Bearer ${{VAULT_KEY}}"}}'
    folder = written(tmp_path, f'[[source]]\nformat = "function"\n{source}\n')
    permission = f'send VAULT_KEY of the environment to "{web.root}"'
    for more, code in ((["--plan"], 3), (["--no-commands"], 3), ([], 2)):
        ended = built(folder, *more)
        said = " ".join(ended.stderr.split())
        assert (ended.returncode, web.asked, SECRET in said) == (code, [], False), more
        assert permission in said and "--allow-commands" in said, more
    assert built(folder, "--allow-commands").returncode == 0
    for more in (["--force"], ["--plan"], ["--no-commands"]):
        assert built(folder, *more).returncode == 0, more
    assert [(SECRET in target, SECRET in headers["x-a"]) for target, headers in web.asked] == [(True, True)] * 4


def test_what_was_allowed_stays_so_until_the_variable_or_the_server_changes(tmp_path: Path) -> None:
    def source(url: str, value: str = "${VAULT_KEY}", name: str = "X-A") -> Path:
        return written(tmp_path, f'[[source]]\nurl = "{url}"\nformat = "function"\nheaders = {{{name} = "{value}"}}\n')

    require_approved(load(source("https://api.example/v1")), allow=True)
    require_approved(load(source("https://API.example:443/v2?page=2", "Bearer ${VAULT_KEY:-none}", "X-B")))
    require_approved(load(source("https://api.example@good.example/", "no variable")))
    for url, value in (
        ("https://api.example/v1", "${OTHER_KEY}"),
        ("http://api.example/v1", "${VAULT_KEY}"),
        ("https://api.example:8443/v1", "${VAULT_KEY}"),
        ("https://api.example.evil.example/v1", "${VAULT_KEY}"),
        ("https://api.example@evil.example/v1", "${VAULT_KEY}"),
        ("https://${VAULT_KEY}.evil.example/", "plain"),
        ("https://api.example${NONE:-@evil.example}/v1", "${VAULT_KEY}"),
    ):
        with pytest.raises(SettingsInvalid, match="what nobody has allowed here yet"):
            require_approved(load(source(url, value)))
    settings = load(source("https://api.example/v1"))
    with pytest.raises(SettingsInvalid, match="what nobody has allowed here yet"):
        require_approved(settings.model_copy(update={"folder": tmp_path}))


def test_a_server_is_named_as_it_is_written_without_user_path_or_value(tmp_path: Path) -> None:
    url = "${VAULT_URL:-https://vault.example}/mcp?k=${VAULT_KEY}"
    (first, second) = asked_of(tmp_path, f'[[source]]\nurl = "{url}"\n')
    assert first == 'send VAULT_URL of the environment to "${VAULT_URL:-https://vault.example}"'
    assert second == first.replace("send VAULT_URL", "send VAULT_KEY")
    oauth = '[source.oauth]\nclient_id = "me"\nclient_secret = "${VAULT_KEY}"\nissuer = "https://login.example/realm"'
    (third,) = asked_of(tmp_path, f'[[source]]\nurl = "https://u:p@mcp.example/mcp"\n{oauth}\n')
    assert third == 'send VAULT_KEY of the environment to "https://login.example"'


def test_a_hook_is_sent_no_variable_before_it_is_allowed_also_where_the_settings_are_refused(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = f'[notify]\nurl = "{web.page("")}/${{VAULT_KEY}}"\n[[source]]\npath = "gone.json"\n'
    folder = written(tmp_path, hook)
    assert built(folder).returncode == 2
    assert built(folder, "--no-commands").returncode == 3
    assert web.asked == []
    built(folder, "--allow-commands")
    assert [target.endswith(SECRET) for target, _ in web.asked] == [True]
    folder.joinpath("catalog.toml").write_text(f"{hook}wrong = 1\n", encoding="utf-8")
    assert built(folder).returncode == 2
    assert len(web.asked) == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert [built(folder, *more).returncode for more in ([], ["--allow-commands"])] == [2, 2]
    assert len(web.asked) == 3


@pytest.mark.parametrize(
    ("enrichment", "environment", "asks"),
    [
        (f'base_url = "{ELSEWHERE}"', {"OPENAI_API_KEY": SECRET}, True),
        ('base_url = "http://127.0.0.1:1/v1"', {"QUARTERMASTER_ENRICHMENT__API_KEY": SECRET}, True),
        ('base_url = "https://api.openai.com@gateway.example"', {"OPENAI_API_KEY": SECRET}, True),
        ('base_url = "https://api.openai.com:443/v1"', {"OPENAI_API_KEY": SECRET}, False),
        ("", {"OPENAI_API_KEY": SECRET}, False),
        (f'base_url = "{ELSEWHERE}"', {}, False),
        (f'base_url = "{ELSEWHERE}"\napi_key = "of the file"', {}, False),
        (f'base_url = "{ELSEWHERE}"\ngenerator = "none"', {"OPENAI_API_KEY": SECRET}, False),
        (f'base_url = "{ELSEWHERE}"', {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": ELSEWHERE}, False),
    ],
)
def test_a_key_of_the_environment_needs_permission_for_an_address_of_the_catalogs_file_that_is_not_openais(
    tmp_path: Path, enrichment: str, environment: dict[str, str], asks: bool
) -> None:
    text = f'[enrichment]\n{enrichment}\n[[source]]\npath = "tools.json"\n'
    found = asked_of(tmp_path, text, **environment)
    assert bool(found) is asks
    assert all(one.startswith(f"send {next(iter(environment))} of the environment to ") for one in found)


def test_a_build_without_permission_asks_no_model_of_the_catalogs_own(tmp_path: Path, web: Web) -> None:
    page = web.page("{}", path="/v1/chat/completions")
    text = f'[enrichment]\nbase_url = "{page.removesuffix("/chat/completions")}"\n[[source]]\npath = "tools.json"\n'
    folder = written(tmp_path, text)
    refused = built(folder, OPENAI_API_KEY=SECRET)
    assert refused.returncode == 2 and f'send OPENAI_API_KEY of the environment to "{web.root}"' in refused.stderr
    without = built(folder, "--no-commands", OPENAI_API_KEY=SECRET)
    assert without.returncode == 0 and "left out, as nobody has allowed it here yet: send OPENAI" in without.stderr
    assert built(folder, "--plan", OPENAI_API_KEY=SECRET).returncode == 0
    assert web.asked == []
    built(folder, "--allow-commands", OPENAI_API_KEY=SECRET)
    assert {headers["authorization"] for _, headers in web.asked} == {f"Bearer {SECRET}"}
    settings = load(folder, overrides(generator="none"), {"OPENAI_API_KEY": SECRET})
    assert permissions_of(settings) == ()


def test_a_cluster_of_the_catalogs_file_needs_permission_one_of_the_environment_none(tmp_path: Path) -> None:
    source = '[[source]]\npath = "tools.json"\n'
    text = f'{source}[flow]\nrunner = "dask"\ndask_address = "tcp://cluster.example:8786"\n'
    assert asked_of(tmp_path, text) == ['exchange code with "tcp://cluster.example:8786"']
    assert asked_of(tmp_path, text, QUARTERMASTER_FLOW__DASK_ADDRESS="tcp://cluster.example:8786") == []
    assert without_commands(load(written(tmp_path, text))).flow.dask_address is None


def test_servers_are_started_and_logged_in_to_by_permission_whatever_the_file_says_of_builds(tmp_path: Path) -> None:
    command = json.dumps([sys.executable, "-c", "pass"])
    folder = written(tmp_path, f"[sources]\nrun_commands = false\n[[source]]\ncommand = {command}\n")
    with pytest.raises(SettingsInvalid, match=r"run \["):
        catalog_upstreams(folder, allow_commands=False)
    vault = '[[source]]\nurl = "https://vault.example/mcp"\n[source.oauth]\nclient_id = "${VAULT_KEY}"\n'
    ended = called(tmp_path, "login", written(tmp_path, vault), "--no-browser")
    assert ended.returncode == 2 and 'send VAULT_KEY of the environment to "https://vault.example"' in ended.stderr


@pytest.mark.parametrize("command", ["evaluate", "train"])
def test_a_catalog_that_is_built_to_measure_or_learn_from_it_needs_permission_too(tmp_path: Path, command: str) -> None:
    code = f"open('ran', 'w'); print({TOOLS!r})"
    source: Any = json.dumps([sys.executable, "-c", code])
    folder = written(tmp_path, f'[[source]]\nformat = "function"\ncommand = {source}\n')
    judged = {"id": "a", "query": "find", "required": ["tools/found"], "acceptable": [], "kind": "single"}
    (folder / "judgements.jsonl").write_text(json.dumps(judged), encoding="utf-8")
    line = ("--bench", folder) if command == "evaluate" else (folder, "--out", tmp_path / "encoder")
    ended = called(tmp_path, command, *line, "--workspace", tmp_path)
    assert ended.returncode == 2 and "nobody has allowed here yet" in ended.stderr
    assert not (folder / "ran").exists()
