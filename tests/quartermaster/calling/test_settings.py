"""The settings of calls: read from a file, checked, and silent about secrets."""

from pathlib import Path
from typing import Any

import pytest

from quartermaster.calling import Bearer, CallSettings, ClientCredentials, ProviderCalls, read_call_settings
from router.errors import SettingsInvalid
from router.operation import Operation
from tests.support.factories import make_record

TOML = """
[provider.bank]
base_url = "https://api.bank.test/v1"
auth = { type = "bearer", token = "${BANK_TOKEN}" }
headers = { "X-Team" = "${TEAM}" }
allow = ["post"]
timeout_s = 5

[provider.crm]
base_url = "https://crm.test"
auth = { type = "client_credentials", token_url = "https://login.test/token", client_id = "a", client_secret = "b" }
"""
VARIABLES = {"BANK_TOKEN": "tok-very-secret\n", "TEAM": "blue"}


def test_a_file_is_read_with_the_environment_s_values(tmp_path: Path) -> None:
    path = tmp_path / "calls.toml"
    path.write_text(TOML, encoding="utf-8")
    settings = read_call_settings(path, VARIABLES)
    bank = settings.provider["bank"]
    assert (bank.auth, bank.headers, bank.timeout_s) == (Bearer("tok-very-secret"), {"X-Team": "blue"}, 5.0)
    assert settings.provider["crm"].auth == ClientCredentials("https://login.test/token", "a", "b")


def test_json_of_the_same_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    path.write_text('{"provider": {"a": {"base_url": "https://a.test", "write": true}}}', encoding="utf-8")
    assert read_call_settings(path, {}).provider["a"].write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[provider.a]\n", "either base_url"),
        ("[provider.a]\nbase_url = 'https://a.test'\ndocument_server = true\n", "either base_url"),
        ("[provider.a]\nbase_url = 'ftp://a.test'\n", "base_url must be an address"),
        ("[provider.a]\nbase_url = 'https://a.test/é'\n", "base_url must be an address"),
        ("[provider.a]\nbase_url = 'https://u:p@a.test'\n", "without user, query and fragment"),
        ("[provider.a]\nbase_url = 'https://a.test/?key=1'\n", "without user, query and fragment"),
        ("[provider.a]\nbase_url = 'http://api.a.com'\nauth = {type = 'bearer', token = 'x'}\n", "in the clear"),
        ("[provider.a]\ndocument_server = true\nauth = {type = 'bearer', token = 'x'}\n", "gets no secrets"),
        ("[provider.'*']\nbase_url = 'https://a.test'\n", "under the provider's own name"),
        ("[provider.a]\nbase_url = 'https://a.test'\ntimeout_s = 0\n", "timeout_s is 0"),
        ("[provider.a]\nbase_url = 'https://a.test'\nbase = 1\n", "unknown field `base`"),
        ("[provider.a]\nbase_url = 'https://a.test'\nauth = {type = 'magic'}\n", "Invalid value 'magic'"),
        ("[provider.a]\nbase_url = 'https://a.test'\nheaders = {Host = 'b.test'}\n", "client's own"),
        ('[provider.a]\nbase_url = "https://a.test"\nheaders = {"X" = "a\\r\\nY: 1"}\n', "headers.X: a header"),
        ("[provider.a]\nbase_url = '${MISSING}'\n", "provider.a.base_url: the environment has no MISSING"),
        ("[provider.a\n", "is not a file of calls"),
        ("[provider.a]\nbase_url = 'https://a.test'\n"
         "auth = {type = 'client_credentials', token_url = 'http://login.a.com', client_id = 'i', client_secret = 's'}",
         "auth.token_url is http://"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "calls.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as error:
        read_call_settings(path, VARIABLES)
    assert message in str(error.value) and str(path) in str(error.value)


def test_a_secret_may_go_unencrypted_within_a_private_network() -> None:
    CallSettings({"a": ProviderCalls(base_url="http://127.0.0.1:4200/api", auth=Bearer("x"))})
    CallSettings({"a": ProviderCalls(base_url="http://billing.internal", auth=Bearer("x"))})


@pytest.mark.parametrize(
    ("method", "settings", "is_allowed"),
    [
        ("GET", {}, True),
        ("HEAD", {}, True),
        ("POST", {}, False),
        ("OPTIONS", {}, False),
        ("POST", {"allow": ["post"]}, True),
        ("DELETE", {"allow": ["POST"]}, False),
        ("DELETE", {"write": True}, True),
        ("POST", {"allow_tools": ["stripe/list_*"]}, True),
        ("POST", {"allow_tools": ["stripe/find_*"]}, False),
    ],
)
def test_only_reading_is_allowed_unless_the_settings_name_more(
    method: str, settings: dict[str, Any], is_allowed: bool
) -> None:
    record = make_record("list_charges", operation=Operation(method, "/charges"))
    assert ProviderCalls(base_url="https://a.test", **settings).allows(record) is is_allowed


def test_a_star_stands_for_providers_without_settings_of_their_own() -> None:
    own = ProviderCalls(base_url="https://a.test")
    settings = CallSettings({"stripe": own, "*": ProviderCalls(document_server=True)})
    assert settings.of(make_record()) is own
    assert settings.of(make_record(provider="other")) is settings.provider["*"]
    assert CallSettings({"stripe": own}).of(make_record(provider="other")) is None
