"""What no log, metric or hook may show."""

from pathlib import Path

import pytest

from pipeline.current_run import CurrentRun
from pipeline.monitoring import secrets_of
from pipeline.settings import load

_CATALOG = """
[[source]]
url = "https://user:pa55word@tools.example/${PATH_KEY}?key=qu3ry"
headers = {Authorization = "Bearer ${TOKEN}"}

[enrichment]
api_key = "sk-own"

[notify]
url = "https://hooks.example/services/T00/B00/XXX"
headers = {X-Key = "h34der"}
"""


def test_every_secret_of_the_settings_is_hidden_and_ordinary_words_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalog.toml").write_text(_CATALOG, encoding="utf-8")
    monkeypatch.setenv("TOKEN", "t0ken-of-source")
    monkeypatch.setenv("PATH_KEY", "p4th-key")
    settings = load(tmp_path, environment={"OPENAI_API_KEY": "sk-environment"})
    run = CurrentRun("office", 1, secrets_of(settings))
    for secret in ("pa55word", "p4th-key", "qu3ry", "t0ken-of-source", "sk-environment", "/T00/B00/XXX", "h34der"):
        assert secret not in run.redact(f"it said: {secret if '/' not in secret else f'/services{secret}'}."), secret
    assert run.redact("Bearer of tools.example and hooks.example") == "Bearer of tools.example and hooks.example"
