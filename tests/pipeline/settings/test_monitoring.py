"""The settings of the hook and of the metrics."""

from pathlib import Path

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import EVENTS, load
from pipeline.settings.loading import monitoring_of


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A catalog of one file."""
    (tmp_path / "catalog.toml").write_text('[[source]]\npath = "tools.json"\n', encoding="utf-8")
    return tmp_path


def test_the_environment_sets_a_hook_its_lists_as_json(catalog: Path) -> None:
    variables = {
        "QUARTERMASTER_NOTIFY__COMMAND": '["./page", "--team"]',
        "QUARTERMASTER_NOTIFY__EVENTS": '["held", "failed"]',
        "QUARTERMASTER_METRICS__TEXTFILE": "/var/lib/metrics",
    }
    assert load(catalog, environment={}).notify.events == EVENTS  # unless the settings choose
    settings = load(catalog, environment=variables)
    assert settings.notify.command == ("./page", "--team") and settings.notify.events == ("held", "failed")
    assert settings.metrics.textfile == Path("/var/lib/metrics")
    assert monitoring_of(catalog, variables) == (catalog.name, settings.notify, settings.metrics)


@pytest.mark.parametrize(
    ("hook", "sentence"),
    [
        ('events = ["helt"]', "notify.events.0"),
        ("command = []", "notify.command: it is empty"),
        ('url = "ftp://x"', "notify.url: it is no address of http or https"),
        ('headers = {A = "b"}', "notify.headers: they are for a url, and notify.url is not set"),
        ('url = "https://x"\nheaders = {"A b" = "c"}', "notify.headers.A b: it cannot name a header"),
        ("timeout_s = 0", "notify.timeout_s"),
    ],
)
def test_a_wrong_hook_is_refused_and_counts_as_none_where_nothing_can_be_loaded(
    catalog: Path, hook: str, sentence: str
) -> None:
    with (catalog / "catalog.toml").open("a", encoding="utf-8") as stream:
        stream.write(f'\n[metrics]\ntextfile = "x.prom"\n[notify]\n{hook}\n')
    with pytest.raises(SettingsInvalid) as refused:
        load(catalog, environment={})
    assert sentence in str(refused.value)
    _, notify, metrics = monitoring_of(catalog, {})
    assert (notify.command, notify.url, metrics.textfile) == (None, None, Path("x.prom"))
