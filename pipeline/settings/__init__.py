"""Settings: frozen, typed, validated when loaded, printable. Nothing else reads settings from the environment.

`sources` (with `access` and `variables`), `enrichment`, `snapshot` and `catalog` hold the sections; `loading` puts them
together, `files` finds what lies below a folder, `problems` says what is wrong with them.

Precedence, first wins: arguments of the call or the command line, environment, `catalog.toml`, defaults.
Environment: `QUARTERMASTER_<SECTION>__<FIELD>` for any field of a section below, as in
`QUARTERMASTER_VECTORS__ENCODER=auto`, and OpenAI's own `OPENAI_API_KEY` and `OPENAI_BASE_URL`. `QUARTERMASTER_CACHE`,
the folder of exported encoders, belongs to no catalog: `router.user_cache` reads it.
"""

from pathlib import Path

from pipeline.settings.access import OAuthSettings
from pipeline.settings.catalog import (
    EVENTS,
    CatalogSettings,
    Event,
    FlowSettings,
    LedgerSettings,
    MetricsSettings,
    NotifySettings,
)
from pipeline.settings.enrichment import AssessmentSettings, BatchSettings, EnrichmentSettings, Price
from pipeline.settings.loading import left_out, load, overrides, with_provider
from pipeline.settings.snapshot import (
    CandidateEngine,
    PublishSettings,
    RetrievalSettings,
    TuningSettings,
    VectorSettings,
)
from pipeline.settings.sources import FieldSettings, LimitsSettings, SourceSettings, SourcesSettings

__all__ = [
    "DEFAULT_WORKSPACE",
    "EVENTS",
    "AssessmentSettings",
    "BatchSettings",
    "CandidateEngine",
    "CatalogSettings",
    "EnrichmentSettings",
    "Event",
    "FieldSettings",
    "FlowSettings",
    "LedgerSettings",
    "LimitsSettings",
    "MetricsSettings",
    "NotifySettings",
    "OAuthSettings",
    "Price",
    "PublishSettings",
    "RetrievalSettings",
    "SourceSettings",
    "SourcesSettings",
    "TuningSettings",
    "VectorSettings",
    "left_out",
    "load",
    "overrides",
    "with_provider",
]

DEFAULT_WORKSPACE = Path(".quartermaster")
