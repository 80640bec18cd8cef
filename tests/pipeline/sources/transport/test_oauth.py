"""Remote MCP servers that want an OAuth token: client credentials, a stored token, a refreshed and a refused one."""

import json
import logging
import os
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pipeline.errors import RunAborted, SettingsInvalid, Unavailable
from pipeline.settings import CatalogSettings
from pipeline.sources import read
from pipeline.sources.transport.login import log_in
from pipeline.sources.transport.token_file import token_path
from quartermaster.cli.commands.sources import catalog_upstreams
from quartermaster.serving.mcp.session import open_session
from tests.pipeline.sources.authority import ID, SECRET, Authority, protected
from tests.pipeline.sources.reading import read_one, stop_one
from tests.pipeline.sources.web import Web
from tests.support.command_line import called


@pytest.fixture(scope="module")
def servers() -> Iterator[Authority]:
    with protected() as authority:
        yield authority


@pytest.fixture
def authority(servers: Authority) -> Iterator[Authority]:
    servers.reset()
    yield servers
    servers.reset()


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULT_ID", ID)
    monkeypatch.setenv("VAULT_SECRET", SECRET)
    return tmp_path / "config" / "quartermaster"


def _catalog(url: str, folder: Path = Path(), headers: dict[str, str] | None = None, **oauth: Any) -> CatalogSettings:
    source = {"url": url, "timeout_s": 60, "provider": "vault", "oauth": oauth, "headers": headers or {}}
    return CatalogSettings(name="vault", folder=folder, source=(source,))


def _by_credentials(authority: Authority, query: str = "", **more: Any) -> CatalogSettings:
    own = {"client_id": "${VAULT_ID}", "client_secret": "${VAULT_SECRET}", "issuer": authority.issuer}
    return _catalog(authority.url + query, **{**own, **more})


def _stop(catalog: CatalogSettings) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        read(catalog)
    return stopped.value


def _names(catalog: CatalogSettings) -> list[str]:
    return [tool.name for tool in read(catalog).tools]


def _store(config: Path, url: str, token: dict[str, Any], **client: Any) -> Path:
    client = {"client_id": "registered", "token_endpoint_auth_method": "none", **client}
    return _write(config, url, json.dumps({"server": url, "token": token, "client": client}))


def _write(config: Path, url: str, content: str, mode: int = 0o600) -> Path:
    file = token_path(url, config)
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    file.chmod(mode)
    return file


def test_a_client_asks_for_a_token_by_its_own_credentials_and_sends_its_headers_to_no_other_server(
    authority: Authority, config: Path
) -> None:
    catalog = _by_credentials(authority, scope="tools:read", headers={"X-Key": "of-the-server"})
    assert _names(catalog) == ["open_vault"]
    (asked,) = authority.asked
    assert (asked["grant_type"], asked["resource"]) == ("client_credentials", authority.url)
    assert authority.seen and not any("x-key" in headers for _, headers in authority.seen)
    assert not config.exists()  # nothing is stored


def test_credentials_go_in_the_body_where_the_server_takes_them_no_other_way(authority: Authority) -> None:
    authority.methods = ("client_secret_post",)
    assert _names(_by_credentials(authority)) == ["open_vault"]
    assert authority.asked[0]["client_secret"] == SECRET


@pytest.mark.parametrize("issuer", [None, "https://login.example"])
def test_a_secret_goes_to_no_server_but_the_issuer(authority: Authority, issuer: str | None) -> None:
    stopped = _stop(_by_credentials(authority, issuer=issuer))
    assert f"it takes tokens of '{authority.issuer}" in str(stopped) and "write it as the issuer" in str(stopped)
    assert authority.asked == []


def test_refused_credentials_are_told_without_them(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SECRET not in str(_stop(_by_credentials(authority, client_id="other")))
    monkeypatch.setenv("VAULT_SECRET", "wrong-one")
    message = str(_stop(_by_credentials(authority)))
    assert message.startswith(f"the MCP server '{authority.url}' could not be read: its authorization server gave no")
    assert "invalid_client" in message and "wrong-one" not in message


def test_an_authorization_server_that_is_out_of_order_may_answer_later_and_nothing_secret_is_logged(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    read(_by_credentials(authority, "?key=of-the-query"))
    authority.status = 503
    stopped = _stop(_by_credentials(authority, "?key=of-the-query"))
    assert isinstance(stopped, Unavailable)
    assert str(stopped).endswith("its authorization server answered HTTP 503")
    assert not any(text in caplog.text for text in (SECRET, "of-the-query", "access-token"))


def test_a_stored_token_is_sent_also_of_a_file_in_the_catalogs_folder(
    authority: Authority, config: Path, tmp_path: Path
) -> None:
    stored = _store(config, authority.url, authority.grant())
    assert _names(_catalog(authority.url)) == ["open_vault"]
    stored.rename(tmp_path / "vault.token.json")
    assert _names(_catalog(authority.url, tmp_path, token_file="vault.token.json")) == ["open_vault"]
    assert authority.seen == []


def test_without_oauth_a_header_with_the_token_will_do_and_its_lack_is_told(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = str(stop_one(url=authority.url))
    assert told.endswith("(HTTP 401): give it a token, by headers or oauth of the [[source]]")
    monkeypatch.setenv("VAULT_TOKEN", authority.grant()["access_token"])
    assert len(read_one(url=authority.url, headers={"Authorization": "Bearer ${VAULT_TOKEN}"}).tools) == 1


@pytest.mark.parametrize("rotates", [True, False])
def test_a_stored_token_that_has_expired_is_refreshed_and_stored(
    authority: Authority, config: Path, rotates: bool
) -> None:
    authority.rotates = rotates
    old = authority.grant()
    file = _store(config, authority.url, old, issuer=authority.issuer)
    authority.valid.clear()
    assert _names(_catalog(authority.url)) == ["open_vault"]
    assert [asked["grant_type"] for asked in authority.asked] == ["refresh_token"]
    stored = json.loads(file.read_text(encoding="utf-8"))["token"]
    assert stored["access_token"] in authority.valid and stored["refresh_token"] in authority.refreshes
    assert (stored["refresh_token"] != old["refresh_token"]) is rotates
    assert file.stat().st_mode & 0o777 == 0o600 and [file] == list(file.parent.iterdir())
    assert _names(_catalog(authority.url)) == ["open_vault"] and len(authority.asked) == 1


@pytest.mark.parametrize(
    ("issuer", "told"),
    [
        ({"issuer": "https://login.example"}, "the stored one is of 'https://login.example': run `quartermaster login"),
        ({}, "write it as the issuer in [source.oauth]"),
    ],
    ids=["another", "none-known"],
)
def test_a_refresh_token_goes_to_no_server_but_the_one_that_gave_it(
    authority: Authority, config: Path, issuer: dict[str, str], told: str
) -> None:
    _store(config, authority.url, authority.grant(), **issuer)
    authority.valid.clear()
    assert told in str(_stop(_catalog(authority.url)))
    assert authority.asked == []
    if not issuer:
        assert _names(_catalog(authority.url, issuer=authority.issuer)) == ["open_vault"]


@pytest.mark.parametrize(("refreshable", "told"), [(True, "(invalid_grant)"), (False, "cannot be refreshed")])
def test_a_token_that_cannot_be_refreshed_says_what_to_do_and_opens_no_browser(
    authority: Authority, config: Path, monkeypatch: pytest.MonkeyPatch, refreshable: bool, told: str
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("a build opened a browser"))
    token = authority.grant(refreshable)
    _store(config, authority.url, token, issuer=authority.issuer)
    authority.valid.clear()
    authority.refreshes.clear()
    message = str(_stop(_catalog(authority.url)))
    assert told in message and "run `quartermaster login PATH`" in message
    assert not any(value in message for value in (token["access_token"], token.get("refresh_token", "-")))
    assert not {"/login/authorize", "/login/register"} & {path for path, _ in authority.seen}


def test_without_a_stored_token_nothing_is_asked(authority: Authority, config: Path) -> None:
    message = str(_stop(_catalog(url := authority.url)))
    assert message.startswith(f"no token is stored for the MCP server '{url}' ({token_path(url, config)}): run ")
    assert authority.seen == []


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ("{", 0o600, "is not JSON"),
        ('{"server": "http://other/mcp"}', 0o600, 'is not of this server: its "server" must be '),
        ('{"server": "URL", "token": {"access_token": 7}}', 0o600, "token.access_token must be a text"),
        ('{"server": "URL", "token": {}}', 0o600, "token.access_token is missing"),
        ("{}", 0o640, "others may read the token file "),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_token_file_that_cannot_be_used_is_told(
    authority: Authority, config: Path, content: str, mode: int, told: str
) -> None:
    file = _write(config, authority.url, content.replace("URL", authority.url), mode)
    message = str(_stop(_catalog(authority.url)))
    assert told in message and str(file) in message


def test_a_server_without_an_authorization_server_is_told(web: Web) -> None:
    url = web.page("", path="/mcp", status=401)
    for kind in ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration"):
        for path in (f"/.well-known/{kind}", f"/.well-known/{kind}/mcp", f"/mcp/.well-known/{kind}"):
            web.page("", path=path, status=404)
    stopped = _stop(_catalog(url, client_id="${VAULT_ID}", client_secret="${VAULT_SECRET}"))
    assert str(stopped).endswith("no authorization server was found for it (RFC 9728, RFC 8414)")


def _browser(address: str) -> None:
    """Follow the address as a browser does, beside the login that waits for it."""
    threading.Thread(target=lambda: urllib.request.urlopen(address).read()).start()


@pytest.mark.parametrize("registered", [False, True])
def test_a_person_logs_in_once_and_builds_go_on_by_the_stored_token(
    authority: Authority, config: Path, registered: bool
) -> None:
    own: Any = {"client_id": "${VAULT_ID}", "grant": "authorization_code", "issuer": authority.issuer}
    catalog = _catalog(authority.url, **own if registered else {})
    file, tools = log_in(catalog.source[0], Path(), show=_browser, wait_s=60)
    assert (file, tools) == (token_path(authority.url, config), 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert ("/login/register" in [path for path, _ in authority.seen]) is not registered
    assert _names(catalog) == ["open_vault"]
    authority.valid.clear()
    assert _names(catalog) == ["open_vault"]
    assert [asked["grant_type"] for asked in authority.asked] == ["authorization_code", "refresh_token"]


def test_a_login_that_is_refused_or_that_nobody_answers_or_that_cannot_be_stored_stores_nothing(
    authority: Authority, config: Path, tmp_path: Path
) -> None:
    source = _catalog(authority.url).source[0]
    (tmp_path / "file").write_text("", encoding="utf-8")
    elsewhere = _catalog(authority.url, token_file=str(tmp_path / "file" / "token.json")).source[0]
    with pytest.raises(RunAborted, match=r"the token could not be stored in .*token\.json: "):
        log_in(elsewhere, tmp_path, show=_browser, wait_s=60)
    authority.denies = True
    with pytest.raises(RunAborted, match="the login was refused: 'access_denied'"):
        log_in(source, Path(), show=_browser, wait_s=60)
    with pytest.raises(Unavailable):
        log_in(source, Path(), show=lambda _: None, wait_s=0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunAborted, match=f"the login needs port {port} of this machine: "):
            log_in(source, Path(), show=_browser, port=port)
    assert not config.exists()


def test_calls_through_the_mcp_server_of_the_router_are_given_the_token_too(
    authority: Authority, tmp_path: Path
) -> None:
    oauth = f'client_id = "${{VAULT_ID}}"\nclient_secret = "${{VAULT_SECRET}}"\nissuer = "{authority.issuer}"'
    text = f'[[source]]\nurl = "{authority.url}"\n[source.oauth]\n{oauth}\n'
    (tmp_path / "catalog.toml").write_text(text, encoding="utf-8")
    with pytest.raises(
        SettingsInvalid, match=f'send VAULT_SECRET of the environment to "{authority.issuer.removesuffix("/login")}"'
    ):
        catalog_upstreams(tmp_path, allow_commands=False)
    (upstream,) = catalog_upstreams(tmp_path, allow_commands=True)

    async def listed() -> list[str]:
        async with open_session(upstream) as session:
            return list(session.tools)

    assert anyio.run(listed) == ["open_vault"]


def test_login_is_a_command(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tmp_path / "vault"
    catalog.mkdir()
    text = f'[[source]]\nurl = "{authority.url}"\nprovider = "vault"\n'
    (catalog / "catalog.toml").write_text(text, encoding="utf-8")
    refused = called(tmp_path, "login", catalog)
    assert refused.returncode == 2 and "no source has oauth for a person to log in" in refused.stderr
    (catalog / "catalog.toml").write_text(f"{text}[source.oauth]\n", encoding="utf-8")
    monkeypatch.setattr("webbrowser.open", _browser)
    done = called(tmp_path, "login", catalog)
    assert done.returncode == 0, done.stderr
    assert f"Logging in to {authority.url}" in done.stderr and "1 tool; the token is stored in" in done.stderr
    assert authority.asked[0]["code"] not in done.stderr
