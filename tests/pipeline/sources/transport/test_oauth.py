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

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from pipeline.sources.transport.login import log_in
from pipeline.sources.transport.token_file import token_path
from quartermaster.cli.commands.sources import catalog_upstreams
from quartermaster.serving.mcp.session import open_session
from tests.pipeline.sources.authority import ID, SECRET, Authority, protected
from tests.pipeline.sources.reading import read_one, stop_one
from tests.pipeline.sources.web import Web
from tests.support.command_line import called


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Authority, str]]:
    with protected() as (authority, url):
        yield authority, url


@pytest.fixture
def authority(servers: tuple[Authority, str]) -> Iterator[Authority]:
    authority, _ = servers
    for kept in (authority.valid, authority.refreshes, authority.codes, authority.asked, authority.seen):
        kept.clear()
    yield authority
    authority.methods = Authority.methods
    authority.status, authority.rotates, authority.denies = 200, True, False


@pytest.fixture
def url(servers: tuple[Authority, str]) -> str:
    return servers[1]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULT_ID", ID)
    monkeypatch.setenv("VAULT_SECRET", SECRET)
    return tmp_path / "config" / "quartermaster"


def _catalog(url: str, folder: Path = Path(), headers: dict[str, str] | None = None, **oauth: Any) -> CatalogSettings:
    source = {"url": url, "timeout_s": 60, "provider": "vault", "oauth": oauth, "headers": headers or {}}
    return CatalogSettings(name="vault", folder=folder, source=(source,))


def _stop(catalog: CatalogSettings) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        read(catalog)
    return stopped.value


def _by_credentials(url: str, authority: Authority, **more: Any) -> CatalogSettings:
    own = {"client_id": "${VAULT_ID}", "client_secret": "${VAULT_SECRET}", "issuer": authority.issuer}
    return _catalog(url, **{**own, **more})


def _names(reading: Reading) -> list[str]:
    return [tool.name for tool in reading.tools]


def _store(config: Path, url: str, token: dict[str, Any], **client: Any) -> Path:
    file = token_path(url, config)
    file.parent.mkdir(parents=True)
    client = {"client_id": "registered", "token_endpoint_auth_method": "none", **client}
    file.write_text(json.dumps({"server": url, "token": token, "client": client}), encoding="utf-8")
    file.chmod(0o600)
    return file


def test_a_client_asks_for_a_token_by_its_own_credentials_and_sends_its_headers_to_no_other_server(
    authority: Authority, url: str, config: Path
) -> None:
    reading = read(_by_credentials(url, authority, scope="tools:read", headers={"X-Key": "of-the-server"}))
    assert _names(reading) == ["open_vault"]
    (asked,) = authority.asked
    assert (asked["grant_type"], asked["resource"]) == ("client_credentials", url)
    assert authority.seen and not any("x-key" in headers for _, headers in authority.seen)
    assert not config.exists()  # nothing is stored


def test_credentials_go_in_the_body_where_the_server_takes_them_no_other_way(
    authority: Authority, url: str, config: Path
) -> None:
    authority.methods = ("client_secret_post",)
    assert _names(read(_by_credentials(url, authority))) == ["open_vault"]
    assert authority.asked[0]["client_secret"] == SECRET


@pytest.mark.parametrize("issuer", [None, "https://login.example"])
def test_a_secret_goes_to_no_server_but_the_issuer(
    authority: Authority, url: str, config: Path, issuer: str | None
) -> None:
    stopped = _stop(_by_credentials(url, authority, issuer=issuer))
    assert f"it takes tokens of '{authority.issuer}" in str(stopped) and "write it as the issuer" in str(stopped)
    assert authority.asked == []


def test_refused_credentials_are_told_without_them(
    authority: Authority, url: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = _by_credentials(url, authority)
    assert SECRET not in str(_stop(_by_credentials(url, authority, client_id="other")))
    monkeypatch.setenv("VAULT_SECRET", "wrong-one")
    message = str(_stop(catalog))
    assert message.startswith(f"the MCP server '{url}' could not be read: its authorization server gave no token")
    assert "invalid_client" in message and "wrong-one" not in message


def test_an_authorization_server_that_is_out_of_order_may_answer_later(
    authority: Authority, url: str, config: Path
) -> None:
    authority.status = 503
    stopped = _stop(_by_credentials(url, authority))
    assert isinstance(stopped, Unavailable)
    assert str(stopped).endswith("its authorization server answered HTTP 503")


def test_a_stored_token_is_sent_also_of_a_file_in_the_catalogs_folder(
    authority: Authority, url: str, config: Path, tmp_path: Path
) -> None:
    stored = _store(config, url, authority.grant())
    assert _names(read(_catalog(url))) == ["open_vault"]
    stored.rename(tmp_path / "vault.token.json")
    assert _names(read(_catalog(url, tmp_path, token_file="vault.token.json"))) == ["open_vault"]
    assert authority.seen == []


def test_without_oauth_a_header_with_the_token_will_do_and_its_lack_is_told(
    authority: Authority, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(stop_one(url=url)).endswith("(HTTP 401): give it a token, by headers or oauth of the [[source]]")
    monkeypatch.setenv("VAULT_TOKEN", authority.grant()["access_token"])
    assert _names(read_one(url=url, headers={"Authorization": "Bearer ${VAULT_TOKEN}"})) == ["open_vault"]


@pytest.mark.parametrize("rotates", [True, False])
def test_a_stored_token_that_has_expired_is_refreshed_and_stored(
    authority: Authority, url: str, config: Path, rotates: bool
) -> None:
    authority.rotates = rotates
    old = authority.grant()
    file = _store(config, url, old, issuer=authority.issuer)
    authority.valid.clear()
    assert _names(read(_catalog(url))) == ["open_vault"]
    assert [asked["grant_type"] for asked in authority.asked] == ["refresh_token"]
    stored = json.loads(file.read_text(encoding="utf-8"))["token"]
    assert stored["access_token"] in authority.valid and stored["refresh_token"] in authority.refreshes
    assert (stored["refresh_token"] != old["refresh_token"]) is rotates
    assert file.stat().st_mode & 0o777 == 0o600 and [file] == list(file.parent.iterdir())
    assert _names(read(_catalog(url))) == ["open_vault"] and len(authority.asked) == 1


@pytest.mark.parametrize(
    ("issuer", "told"),
    [
        ({"issuer": "https://login.example"}, "the stored one is of 'https://login.example': run `quartermaster login"),
        ({}, "write it as the issuer in [source.oauth]"),
    ],
    ids=["another", "none-known"],
)
def test_a_refresh_token_goes_to_no_server_but_the_one_that_gave_it(
    authority: Authority, url: str, config: Path, issuer: dict[str, str], told: str
) -> None:
    _store(config, url, authority.grant(), **issuer)
    authority.valid.clear()
    assert told in str(_stop(_catalog(url)))
    assert authority.asked == []
    if not issuer:
        assert _names(read(_catalog(url, issuer=authority.issuer))) == ["open_vault"]


@pytest.mark.parametrize(("refreshable", "told"), [(True, "(invalid_grant)"), (False, "cannot be refreshed")])
def test_a_token_that_cannot_be_refreshed_says_what_to_do_and_opens_no_browser(
    authority: Authority, url: str, config: Path, monkeypatch: pytest.MonkeyPatch, refreshable: bool, told: str
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("a build opened a browser"))
    token = authority.grant(refreshable)
    _store(config, url, token, issuer=authority.issuer)
    authority.valid.clear()
    authority.refreshes.clear()
    message = str(_stop(_catalog(url)))
    assert told in message and "run `quartermaster login PATH`" in message
    assert not any(value in message for value in (token["access_token"], token.get("refresh_token", "-")))
    assert "/login/authorize" not in [path for path, _ in authority.seen]
    assert "/login/register" not in [path for path, _ in authority.seen]


def test_without_a_stored_token_nothing_is_asked(authority: Authority, url: str, config: Path) -> None:
    message = str(_stop(_catalog(url)))
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
def test_a_token_file_that_cannot_be_used_is_told(url: str, config: Path, content: str, mode: int, told: str) -> None:
    file = token_path(url, config)
    file.parent.mkdir(parents=True)
    file.write_text(content.replace("URL", url), encoding="utf-8")
    file.chmod(mode)
    message = str(_stop(_catalog(url)))
    assert told in message and str(file) in message


def test_a_server_without_an_authorization_server_is_told(web: Web, config: Path) -> None:
    url = web.page("", path="/mcp", status=401)
    for kind in ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration"):
        for path in (f"/.well-known/{kind}", f"/.well-known/{kind}/mcp", f"/mcp/.well-known/{kind}"):
            web.page("", path=path, status=404)
    stopped = _stop(_catalog(url, client_id="${VAULT_ID}", client_secret="${VAULT_SECRET}"))
    assert str(stopped).endswith("no authorization server was found for it (RFC 9728, RFC 8414)")


def test_a_token_that_cannot_be_stored_stops_the_run(authority: Authority, url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    catalog = _catalog(url, tmp_path, token_file=str(tmp_path / "file" / "token.json"))
    with pytest.raises(RunAborted, match=r"the token could not be stored in .*token\.json: "):
        log_in(catalog.source[0], tmp_path, show=_browser, wait_s=60)


def test_nothing_secret_is_logged(
    authority: Authority, url: str, config: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    read(_by_credentials(f"{url}?key=of-the-query", authority))
    authority.status = 500
    _stop(_by_credentials(f"{url}?key=of-the-query", authority))
    told = caplog.text
    assert SECRET not in told and "of-the-query" not in told and "access-token" not in told


def _browser(address: str) -> None:
    """Follow the address as a browser does, beside the login that waits for it."""
    threading.Thread(target=lambda: urllib.request.urlopen(address).read()).start()


@pytest.mark.parametrize("registered", [False, True])
def test_a_person_logs_in_once_and_builds_go_on_by_the_stored_token(
    authority: Authority, url: str, config: Path, registered: bool
) -> None:
    own: Any = {"client_id": "${VAULT_ID}", "grant": "authorization_code", "issuer": authority.issuer}
    catalog = _catalog(url, **own if registered else {})
    file, tools = log_in(catalog.source[0], Path(), show=_browser, wait_s=60)
    assert (file, tools) == (token_path(url, config), 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert ("/login/register" in [path for path, _ in authority.seen]) is not registered
    assert _names(read(catalog)) == ["open_vault"]
    authority.valid.clear()
    assert _names(read(catalog)) == ["open_vault"]
    assert [asked["grant_type"] for asked in authority.asked] == ["authorization_code", "refresh_token"]


def test_a_login_that_is_refused_or_that_nobody_answers_stores_nothing(
    authority: Authority, url: str, config: Path
) -> None:
    source = _catalog(url).source[0]
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
    authority: Authority, url: str, config: Path, tmp_path: Path
) -> None:
    oauth = f'client_id = "${{VAULT_ID}}"\nclient_secret = "${{VAULT_SECRET}}"\nissuer = "{authority.issuer}"'
    (tmp_path / "catalog.toml").write_text(f'[[source]]\nurl = "{url}"\n[source.oauth]\n{oauth}\n', encoding="utf-8")
    (upstream,) = catalog_upstreams(tmp_path, allow_commands=False)

    async def listed() -> list[str]:
        async with open_session(upstream) as session:
            return list(session.tools)

    assert anyio.run(listed) == ["open_vault"]


def test_login_is_a_command(authority: Authority, url: str, config: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "vault"
    catalog.mkdir()
    (catalog / "catalog.toml").write_text(f'[[source]]\nurl = "{url}"\nprovider = "vault"\n', encoding="utf-8")
    refused = called(tmp_path, "login", catalog)
    assert refused.returncode == 2 and "no source has oauth for a person to log in" in refused.stderr
    with (catalog / "catalog.toml").open("a", encoding="utf-8") as file:
        file.write("[source.oauth]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("webbrowser.open", _browser)
        done = called(tmp_path, "login", catalog)
    assert done.returncode == 0, done.stderr
    assert f"Logging in to {url}" in done.stderr and "1 tool; the token is stored in" in done.stderr
    assert authority.asked[0]["code"] not in done.stderr
