"""Settings: frozen, typed, validated when loaded, printable. No other place takes any from the environment.

Precedence, first wins: arguments of the call or the command line, environment, `catalog.toml`, defaults.
Environment: `QUARTERMASTER_<SECTION>__<FIELD>` for any field of a section below, as in
`QUARTERMASTER_VECTORS__ENCODER=auto`, and OpenAI's own `OPENAI_API_KEY` and `OPENAI_BASE_URL`. `QUARTERMASTER_CACHE`,
the folder of exported encoders, is no catalog's setting: `router.encoding.export.cache_folder` reads it for build and
router.
"""

from pathlib import Path

from pipeline.settings.access import OAuthSettings
from pipeline.settings.fields import FieldSettings
from pipeline.settings.loading import CATALOG_FILE, left_out, load, overrides, with_provider
from pipeline.settings.sections import (
    AssessmentSettings,
    BatchSettings,
    CatalogSettings,
    EnrichmentSettings,
    FlowSettings,
    Price,
    PublishSettings,
    RetrievalSettings,
    SourceSettings,
    SourcesSettings,
    TuningSettings,
    VectorSettings,
)

__all__ = [
    "CATALOG_FILE",
    "DEFAULT_WORKSPACE",
    "AssessmentSettings",
    "BatchSettings",
    "CatalogSettings",
    "EnrichmentSettings",
    "FieldSettings",
    "FlowSettings",
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
