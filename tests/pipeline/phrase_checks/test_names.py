"""Names of other tools and providers, and the ordinary words that are none."""

import pytest

from pipeline.phrase_checks.names import Names
from router.record import Parameter, ToolRecord
from tests.support.factories import make_record

PROSE = "Turns a GitHub issue into a Linear one; a linear search, zoom in. Not to be confused with GitHub or GitHub."
RECORDS = (
    make_record("list_charges", "stripe", description="Lists the search results."),
    make_record("createIssue", "github", description=PROSE),
    make_record("search", "search", description="Plain search of the bank's files."),
    make_record("list-all-files", "azure/files"),
    make_record("run", "azure/compute"),
    make_record("find_page", "@acme/notion-mcp-server", description="Finds a page in Notion."),
    make_record("join", "zoom"),
    make_record("open", "google-drive"),
    make_record("list", "linear"),
)
NAMES = Names(RECORDS)


def of(name: str) -> ToolRecord:
    return next(record for record in RECORDS if record.name == name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use createIssue", "createIssue"),
        ("use LIST_CHARGES now", "LIST_CHARGES"),
        ("stripe/list_charges", "stripe/list_charges"),
        ("see list-all-files.", "list-all-files"),
        ("create an issue, list charges", ""),  # English
        ("search, run, join", ""),  # names, and words
        ("my_file and otherThing", ""),  # no tool's
        ("find_page it is", ""),  # its own
    ],
)
def test_an_identifier_of_another_tool_is_no_english(text: str, found: str) -> None:
    assert NAMES.other_tool(text, of("find_page")) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an issue on github", "github"),  # a name wherever the catalog writes it
        ("pay with Stripe", "Stripe"),
        ("Stripe payments", ""),  # a first word has a capital anyway, and the catalog never writes it
        ("stripe the wall", ""),
        ("open my Google Drive", "Google Drive"),
        ("drive to google", ""),
        ("linear search", ""),  # the catalog writes both
        ("an issue in Linear", "Linear"),
        ("search the Search", ""),  # an ordinary word, with a capital or without
        ("join the Zoom call", ""),  # the catalog writes it small alone
        ("azure files", ""),  # `files` is an area of its vendor
    ],
)
def test_a_provider_is_told_from_an_ordinary_word_by_the_catalogs_own_prose(text: str, found: str) -> None:
    record = of("run")
    assert NAMES.other_provider(text, NAMES.supported(record)) == found


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "post_to_github"},
        {"provider": "github-mcp"},
        {"categories": ("github",)},
        {"parameters": (Parameter("githubToken", "string"),)},
        {"parameters": (Parameter("source", "string", "", ("github", "other")),)},
        {"parameters": (Parameter("url", "string", "Of a GitHub repository."),)},
        {"description": "Mirrors GitHub."},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_provider_that_the_record_names_may_be_spoken_of(fields: dict[str, object]) -> None:
    record = make_record(**{"name": "mirror", "provider": "acme", **fields})  # type: ignore[arg-type]
    assert NAMES.other_provider("copy it from GitHub", NAMES.supported(record)) == ""


def test_a_description_that_lists_more_than_four_others_supports_none_of_them() -> None:
    providers = ("Alpha", "Bravo", "Delta", "Gamma", "Omega")
    records = [make_record("a", name, description=f"Of {name}.") for name in providers]
    few = make_record("few", "acme", description="With Alpha, Bravo, Delta, Gamma.")
    many = make_record("many", "acme", description="With Alpha, Bravo, Delta, Gamma, Omega.")
    names = Names([*records, few, many])
    assert names.other_provider("as in Alpha", names.supported(few)) == ""
    assert names.other_provider("as in Alpha", names.supported(many)) == "Alpha"
