"""The pages in a real Chromium: by keyboard, on a phone, in the dark, without the network, without a script."""

import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

PATIENCE_MS = 150_000  # for a machine with much to do
REQUEST = "give the customer their money back, then tell the team in slack"
LISTS = ["name", "description", "expansion", "dense"]
PAGES = (
    "/",
    f"/?request={REQUEST}&block=weather/*",
    "/tools",
    "/builds",
    "/misses",
    "/left-out",
    "/?request=what+is+the+meaning+of+life",
    "/tools/stripe/create_refund",
    f"/tools/weather/getForecast?request={REQUEST}",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync"
    )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=flags.split(), timeout=PATIENCE_MS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def tab(browser: Any, address: str) -> tuple[Any, list[str]]:
    """A page, and what it said or asked for that it should not."""
    page = browser.new_context(base_url=address).new_page()
    page.set_default_timeout(PATIENCE_MS)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.extend(leaving(request.url)))
    return page, said


@pytest.fixture
def page(tab: tuple[Any, list[str]]) -> Iterator[Any]:
    """A page that fails the test for a word on its console, and for a request that leaves this machine."""
    page, said = tab
    said.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    yield page
    assert said == []


def leaving(url: str) -> list[str]:
    parts = urlsplit(url)
    return [] if parts.scheme == "data" or parts.hostname == "127.0.0.1" else [f"asked {url}"]


def test_the_keyboard_alone_leads_from_a_request_to_a_tool(page: Any) -> None:
    page.goto("/")
    assert page.evaluate("document.activeElement.id") == "request"
    page.keyboard.type(REQUEST)
    page.keyboard.press("Enter")
    page.wait_for_url("**/?request=*")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "tool":
            break
    assert page.evaluate("document.activeElement.textContent") == page.locator(".results .tool").first.text_content()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/tools/*/*")
    assert page.locator("h1").text_content() in ("stripe/create_refund", "slack/chat_postMessage")


def test_an_answer_shows_ranks_shares_phrase_and_what_was_left_out(page: Any) -> None:
    page.goto(PAGES[1])
    first = page.locator(".results > li").first
    assert [head.strip() for head in first.locator("tbody th").all_text_contents()][:4] == LISTS
    shares = [text.strip(" %") for text in first.locator("tbody td:last-child").all_text_contents()]
    assert sum(int(share) for share in shares if share != "–") == pytest.approx(100, abs=3)
    assert first.locator(".phrase").text_content()
    assert sum(rank.isdigit() for rank in first.locator("tbody td:nth-child(2)").all_text_contents()) >= 2
    assert "weather/getForecast" in page.locator("table[aria-labelledby=dropped]").text_content()


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_every_page_without_scrolling_sideways(page: Any, path: str) -> None:
    page.goto(path)
    for width in (360, 400):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_read_aloud(page: Any, path: str) -> None:
    """Landmarks, one first heading, a name for each field, heads for each table, a title, a language."""
    page.goto(path)
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title().endswith("Quartermaster")
    assert [page.locator(name).count() for name in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    fields = "[...document.querySelectorAll('input:not([type=hidden]), select')]"
    unnamed = f"{fields}.filter(field => !field.labels.length).length"
    assert page.evaluate(unnamed) == 0
    assert page.evaluate("[...document.querySelectorAll('th')].filter(cell => !cell.scope).length") == 0
    untitled = (
        "[...document.querySelectorAll('table')].filter(t => !t.caption && !t.getAttribute('aria-labelledby')).length"
    )
    assert page.evaluate(untitled) == 0
    twice = "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
    assert page.evaluate(twice) == 0


_CONTRAST = """
() => {
  const light = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(c => c / 255)
      .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (!color.endsWith(', 0)') && color !== 'transparent') return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const low = [];
  for (const element of document.querySelectorAll('main *, header *, footer *')) {
    if (![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || element.closest('svg')) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(element.className + ' ' + element.textContent.trim().slice(0, 30));
  }
  return low;
}
"""


def test_text_stands_out_from_its_ground_by_day_and_by_night(page: Any) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5 to 1."""
    for path in PAGES:
        page.goto(path)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(_CONTRAST) == [], (path, scheme)


def test_the_ranks_are_open_on_a_wide_screen_and_fold_on_a_phone(page: Any) -> None:
    page.goto(PAGES[1])
    first = page.locator(".reasons").first
    table, summary = first.locator("table"), first.locator("summary")
    assert table.is_visible() and not summary.is_visible()
    page.set_viewport_size({"width": 400, "height": 740})
    assert not table.is_visible()
    assert "expansion" in summary.text_content()
    summary.focus()
    page.keyboard.press("Enter")
    assert table.is_visible()


def test_a_form_of_the_page_is_taken_in_and_one_of_another_site_is_not(page: Any, address: str) -> None:
    page.goto("/tools/stripe/create_refund")
    page.locator("#phrase").fill("make the client whole")
    page.keyboard.press("Enter")
    page.wait_for_url("**/stripe/create_refund?suggested=1")
    assert page.locator("form [role=status]").is_visible()
    field = "<input name={} value={}>"
    fields = field.format("tool_id", "stripe/create_refund") + field.format("phrase", "stolen")
    elsewhere = page.context.new_page()
    elsewhere.goto(f"data:text/html,<form method=post action={address}/suggest>{fields}<button>go</button></form>")
    with elsewhere.expect_navigation() as there:
        elsewhere.get_by_text("go").click()
    assert there.value.status == 403
    elsewhere.close()


def test_a_tools_page_answers_why_a_request_does_not_find_it(page: Any) -> None:
    page.goto("/tools/weather/getForecast")
    page.locator("#request").fill(REQUEST)
    page.keyboard.press("Enter")
    page.wait_for_url("**/getForecast?request=*#why")
    assert page.locator(".why [role=status]").is_visible()
    assert [row.strip() for row in page.locator(".places tbody th").all_text_contents()] == LISTS
