"""Text of strangers is shown for what it is."""

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from quartermaster.serving.page.rendering import _ENVIRONMENT, tool_path, visible_text


def test_what_is_not_seen_is_shown_by_its_code_point() -> None:
    assert visible_text("a\u202eb\u0000c\u200bd\n\te") == "a⟦U+202E⟧b⟦U+0000⟧c⟦U+200B⟧d\n\te"
    assert visible_text("שלום, Ünïcode 日本") == "שלום, Ünïcode 日本"


def test_a_long_text_is_cut_and_its_length_said() -> None:
    assert visible_text("x" * 1_048_576, 5) == "xxxxx … (1,048,576 characters)"
    assert visible_text("xxxxx", 5) == "xxxxx"


def test_a_tools_path_leads_to_its_page_alone() -> None:
    assert tool_path("stripe/createRefund") == "/tools/stripe/createRefund"
    assert tool_path("../healthz") == "/tools/..%2Fhealthz"
    assert tool_path('a"><script>?#') == "/tools/a%22%3E%3Cscript%3E%3F%23"
    assert tool_path("//evil.example") == "/tools/%2F%2Fevil.example"


@given(st.text(min_size=1))
def test_any_id_comes_back_from_its_path(tool_id: str) -> None:
    path = urlsplit(f"http://localhost{tool_path(tool_id)}").path
    assert unquote(path.removeprefix("/tools/")) == tool_id


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


@given(st.text() | st.sampled_from(["<script>alert(1)</script>", "' onload=x", '" onload="x', "]]><svg/onload=x>"]))
def test_no_text_becomes_markup(text: str) -> None:
    template = _ENVIRONMENT.from_string('<p title="{{ text|visible }}">{{ text|visible }}</p>')
    parser = _Tags()
    parser.feed(template.render(text=text))
    assert parser.tags == ["p"]
