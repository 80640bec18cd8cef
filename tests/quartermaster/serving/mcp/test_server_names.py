"""Names of prompts and URIs of resources are unique by their server, and mapped back exactly."""

from hypothesis import given
from hypothesis import strategies as st

from quartermaster.serving.mcp.server_names import split_name, split_uri, unique_name, unique_uri


def test_a_uri_keeps_its_own_form_after_the_name_of_its_server() -> None:
    assert unique_uri("git", "file:///a%20b/{path}") == "quartermaster:git/file:///a%20b/{path}"
    assert unique_name("my/server", "a/b") == "my%2Fserver/a/b"


@given(st.text(min_size=1), st.text())
def test_what_is_made_unique_is_mapped_back_exactly(server: str, own: str) -> None:
    try:
        server.encode()
    except UnicodeEncodeError:
        return  # half a character is no name
    assert split_uri(unique_uri(server, own)) == (server, own)
    assert split_name(unique_name(server, own)) == (server, own)


def test_what_names_no_server_is_not_mapped() -> None:
    assert [split_uri(uri) for uri in ("file:///etc/passwd", "quartermaster:git", "quartermaster:/x")] == [None] * 3
