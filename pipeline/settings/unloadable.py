"""Who hears of a build whose settings cannot be loaded: what can be known of the hook and the metrics all the same."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings.base import Section
from pipeline.settings.loading import CATALOG_FILE, environment_settings, read_toml
from pipeline.settings.monitoring import MetricsSettings, NotifySettings

S = TypeVar("S", bound=Section)


def monitoring_of(
    path: Path, environment: Mapping[str, str] | None = None
) -> tuple[str, NotifySettings, MetricsSettings]:
    """Return the name of a catalog, its hook and its metrics, of settings that are wrong elsewhere.

    What is wrong of these two themselves is taken as not set.
    """
    declared: dict[str, Any] = {}
    with suppress(SettingsInvalid):
        declared = read_toml(path / CATALOG_FILE)
    from_environment, _, _ = environment_settings(environment)

    def section(name: str, kind: type[S]) -> S:
        written = declared.get(name)
        fields = {**(written if isinstance(written, dict) else {}), **from_environment.get(name, {})}
        try:
            return kind(**fields)
        except (ValidationError, TypeError):
            return kind()

    name = declared.get("name")
    return (
        name if isinstance(name, str) else path.resolve().name,
        section("notify", NotifySettings),
        section("metrics", MetricsSettings),
    )
