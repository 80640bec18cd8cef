"""Settings: frozen, typed, validated when loaded, printable. Nothing else reads settings from the environment.

`sources` (with `access` and `variables`), `enrichment`, `snapshot` and `catalog` hold the sections; `loading` puts them
together, `files` finds what lies below a folder, `problems` says what is wrong with them.

Precedence, first wins: arguments of the call or the command line, environment, `catalog.toml`, defaults.
Environment: `QUARTERMASTER_<SECTION>__<FIELD>` for any field of a section below, as in
`QUARTERMASTER_VECTORS__ENCODER=auto`, and OpenAI's own `OPENAI_API_KEY` and `OPENAI_BASE_URL`. `QUARTERMASTER_CACHE`,
the folder of exported encoders, belongs to no catalog: `router.user_cache` reads it.
"""

from pathlib import Path

from pipeline.settings.catalog import CatalogSettings, FlowSettings, LedgerSettings, MetricsSettings, NotifySettings
from pipeline.settings.enrichment import AssessmentSettings, EnrichmentSettings
from pipeline.settings.loading import left_out, load, overrides, with_provider
from pipeline.settings.snapshot import PublishSettings, VectorSettings
from pipeline.settings.sources import FieldSettings, LimitsSettings, SourceSettings

__all__ = [
    "DEFAULT_WORKSPACE",
    "AssessmentSettings",
    "CatalogSettings",
    "EnrichmentSettings",
    "FieldSettings",
    "FlowSettings",
    "LedgerSettings",
    "LimitsSettings",
    "MetricsSettings",
    "NotifySettings",
    "PublishSettings",
    "SourceSettings",
    "VectorSettings",
    "left_out",
    "load",
    "overrides",
    "with_provider",
]

DEFAULT_WORKSPACE = Path(".quartermaster")
