"""What must run first on the pages: in an answer, on a tool's own page, and only what the caller may see."""

import pytest
from starlette.testclient import TestClient

from quartermaster.serving.tokens import token_digest
from tests.quartermaster.serving.conftest import Ask
from tests.support.film_tools import CREDITS, FILM_TOOLS, SEARCH, film_router, tool
from tests.support.profiles import written

REQUEST = "the films that Ana Torres has worked in"
TOKEN, ROOT = "alice-0123456789abcdef", "root-0123456789abcdefg"
PROFILES = f"""
    [profiles.credits]
    selection = {{ block = ["films/search_person"] }}
    [profiles.all]
    selection = {{}}
    [tokens.alice]
    profile = "credits"
    sha256 = "{token_digest(TOKEN)}"
    [tokens.root]
    profile = "all"
    sha256 = "{token_digest(ROOT)}"
    """


@pytest.fixture(scope="module")
def pages(client_of: Ask) -> TestClient:
    return client_of(film_router())


def test_pages_say_what_runs_first_for_which_tool_and_which_parameter(pages: TestClient) -> None:
    answer = pages.get("/", params={"request": REQUEST}).text
    assert 'first, for <code>person_id</code> of <a class="tool" href="/tools/films/get_person_credits">' in answer
    assert '<th scope="row">needed</th>' in answer
    needing = pages.get(f"/tools/{CREDITS['id']}").text
    assert "Needs another tool first" in needing and "<code>person_id</code>" in needing
    assert 'href="/tools/films/search_person"' in needing and "100 %" in needing.replace("\u00a0", " ")
    assert "Runs first for" not in needing
    needed = pages.get(f"/tools/{SEARCH['id']}", params={"request": REQUEST}).text
    assert "Runs first for" in needed and 'href="/tools/films/get_person_credits"' in needed
    assert "Needs another tool first" not in needed
    assert "films/get_person_credits needs it first, for person_id." in needed  # the diagnosis
    neither = pages.get("/tools/weather/get_forecast").text
    assert "Needs another tool first" not in neither and "Runs first for" not in neither


def test_a_parameter_of_a_stranger_is_text(client_of: Ask) -> None:
    hostile = tool("films/get_credits", "Return what a person has worked in.", "<img src=x onerror=alert(1)>_person_id")
    client = client_of(film_router(SEARCH, hostile))
    for path, query in (
        ("/", {"request": REQUEST}),
        ("/tools/films/get_credits", {}),
        ("/tools/films/search_person", {"request": REQUEST}),
    ):
        page = client.get(path, params=query).text
        assert "&lt;img src=x" in page and "<img" not in page


@pytest.fixture(scope="module")
def guarded(client_of: Ask, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = written(tmp_path_factory.mktemp("guarded") / "profiles.toml", PROFILES)
    return client_of(film_router(*FILM_TOOLS), profiles=path)


@pytest.mark.parametrize(
    "path", ["/", f"/tools/{CREDITS['id']}", f"/tools/{CREDITS['id']}?request=films+of+a+person", "/v1/route"]
)
def test_a_resolver_outside_of_the_callers_profile_is_named_nowhere(guarded: TestClient, path: str) -> None:
    def shown(token: str) -> str:
        headers = {"Authorization": f"Bearer {token}"}
        if path.startswith("/v1"):
            return guarded.post(path, json={"request": REQUEST, "explain": True}, headers=headers).text
        return guarded.get(path, params=None if "?" in path else {"request": REQUEST}, headers=headers).text

    assert SEARCH["id"] in shown(ROOT) and CREDITS["id"] in shown(TOKEN)
    assert "search_person" not in shown(TOKEN) and SEARCH["description"] not in shown(TOKEN)


def test_over_http_an_answer_has_needed_by(pages: TestClient) -> None:
    brought = pages.post("/v1/route", json={"request": REQUEST, "explain": True}).json()["tools"][1]
    assert brought["needed_by"] == [{"tool_id": CREDITS["id"], "parameter": "person_id"}]
    assert brought["raised"] > 0 and brought["raised"] == pytest.approx(brought["gain"])
