"""`${VARIABLE}` in a setting: put together of its parts, and no way to another host."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.settings.variables import expand, expand_url, origin

_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
_VALUES = st.text(min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.one_of(st.text(alphabet="ab $}-{%"), _NAMES.map(lambda name: (name,)))), st.data())
def test_a_text_is_put_together_of_its_parts_and_the_values(parts: list[Any], data: st.DataObject) -> None:
    names = {part[0] for part in parts if isinstance(part, tuple)}
    environment = {name: data.draw(_VALUES) for name in names}
    written = "".join(f"${{{p[0]}}}" if isinstance(p, tuple) else p.replace("${", "$ {").rstrip("$") for p in parts)
    expected = "".join(environment[p[0]] if isinstance(p, tuple) else p.replace("${", "$ {").rstrip("$") for p in parts)
    assert expand(written, "it", environment)[0] == expected


@given(_VALUES)
@example("x@evil.example/#")
@example("://evil.example")
def test_no_value_changes_the_host_where_it_stands_behind_it_or_as_password(value: str) -> None:
    value = value.encode("utf-8", "ignore").decode().strip() or "x"
    for written in ("https://ada:${V}@host:1/${V}?k=${V}#${V}", "https://host/${V}"):
        filled, values = expand_url(written, "it", {"V": value})
        assert filled.partition("://")[2].rpartition("@")[2].startswith("host") and value in values
        assert filled.count("@") == written.count("@") and "://" not in filled.partition("://")[2]


def test_a_default_that_holds_a_slash_or_an_at_sign_leaves_a_password_quoted_and_the_server_as_it_is() -> None:
    url, _ = expand_url("https://me:${KEY:-a/b}@good.example/${KEY}", "it", {"KEY": "x@evil.example/"})
    assert url == "https://me:x%40evil.example%2F@good.example/x%40evil.example%2F"
    assert origin("https://me:${KEY:-a/b@c}@Good.example:443/p") == "https://good.example"
    assert origin("http://good.example:443?q=@evil.example") == "http://good.example:443"
    assert origin("${URL:-https://good.example}/p") == "${URL:-https://good.example}"
    assert origin("https://${A}.Good.example/p") == "https://${A}.Good.example"
