"""`${VARIABLE}` in a setting: put together of its parts, and no way to another host."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.settings.variables import expand, expand_url

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
