"""All settings of a catalog, and those of the build as a whole: Prefect, the ledger, who hears of a build."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, PrivateAttr, SecretStr, ValidationInfo, field_validator, model_validator

from pipeline.settings.access import Address, Command, Headers
from pipeline.settings.base import Section
from pipeline.settings.enrichment import AssessmentSettings, EnrichmentSettings
from pipeline.settings.snapshot import PublishSettings, RetrievalSettings, TuningSettings, VectorSettings
from pipeline.settings.sources import LimitsSettings, SourceSettings, SourcesSettings
from quartermaster.evaluation import judgements_of

Event = Literal["held", "quarantined", "failed", "degraded", "stale", "recovered"]
EVENTS: tuple[Event, ...] = get_args(Event)


class FlowSettings(Section):
    """How a build runs as a Prefect flow, with a task for each source, batch and stage."""

    batch_size: int = Field(256, ge=1)
    """Tools of a task. A task costs about 25 ms: thousands of tools must not become thousands of tasks."""
    retries: int = Field(2, ge=0, le=10)
    """Further attempts at a task in which something did not answer."""
    retry_delay_s: float = Field(10.0, ge=0)
    """Seconds before the first further attempt; they double with each."""
    timeout_s: float = Field(3600.0, gt=0)
    """Seconds that a task may take."""
    wait_s: float = Field(3600.0, ge=0)
    """Seconds to wait for another build of the workspace: two catalogs may be due at the same hour."""
    runner: Literal["none", "threads", "dask"] = "none"
    """What runs the stages that are functions of data: `none` runs one task at a time in the build's own process,
    `threads` several, `dask` in worker processes on this machine or on a cluster."""
    workers: int | None = Field(None, ge=1)
    """Tasks at once with `threads`, and worker processes of a cluster on this machine; by default one a core."""
    memory_limit: str = Field("auto", min_length=1)
    """Memory of each worker process of a Dask cluster on this machine, such as `4GB`; a worker that takes more is
    ended. `auto` shares the machine's memory among them."""
    dask_address: str | None = Field(None, pattern=r"^(tcp|tls|ucx|ws|wss)://")
    """The scheduler of a Dask cluster that runs already, such as `tcp://10.0.0.5:8786` or `tls://…`."""
    storage: Path | None = None
    """A folder that the build and all workers see under the same path. By default `workers` in the workspace."""

    @model_validator(mode="after")
    def _address_of_runner(self) -> "FlowSettings":
        if self.dask_address and self.runner != "dask":
            raise ValueError(f"dask_address is for runner = 'dask', and runner is {self.runner!r}")
        return self


class LedgerSettings(Section):
    """The backups of the ledger that builds make, in the folder `backups` of the workspace."""

    backups: int = Field(2, ge=0)
    """How many backups stay; 0: none is made. A build makes one when it ends, if anything was stored since the last;
    after one that was killed, the next does when it begins."""
    max_backup_mb: int = Field(10_000, ge=1)
    """A larger ledger is not copied, and the build says so."""


class NotifySettings(Section):
    """A hook that is called once after a build in which one of `events` happened, unless it knows that already.

    It is given one JSON object: the `command` on standard input, the `url` as the body of a POST. A hook that fails is
    reported, and changes neither the outcome of the build nor its exit code.
    """

    command: Command | None = None
    """A program and its arguments. It runs in the catalog's folder, without a shell, with the rights of the build."""
    url: Address | None = None
    """An address of http or https; `${VARIABLE}` is filled in from the environment."""
    headers: Headers = Field(default_factory=dict)
    """Headers of the request to the `url`; `${VARIABLE}` is filled in from the environment."""
    events: tuple[Event, ...] = EVENTS
    """What the hook is called for. `recovered` is the first good build after another. `quarantined` happens once
    for each tool that is held back by itself."""
    remind_after: int = Field(7, ge=1)
    """Trouble that lasts is told when its reasons change, and again after so many builds; 1: after each."""
    timeout_s: float = Field(10.0, gt=0, le=300)
    """Seconds that the command, or the address, may take."""

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, value: dict[str, SecretStr], info: ValidationInfo) -> dict[str, SecretStr]:
        if value and info.data.get("url", "") is None:
            raise ValueError("they are for a url, and notify.url is not set")
        return value


class MetricsSettings(Section):
    """Figures of the last build for Prometheus. OpenTelemetry is configured by its own variables, `OTEL_*`."""

    textfile: Path | None = None
    """A file that each build writes anew, such as one that node_exporter's textfile collector reads; its name ends with
    `.prom`. Of a folder: `quartermaster_<catalog>.prom` in it."""


class CatalogSettings(Section):
    """A catalog and all settings of its build."""

    name: str
    """The catalog's name, and its folder in the workspace: letters, digits, `.`, `_`, `-`. By default its folder's."""
    folder: Path
    """The catalog's folder, where relative paths begin. It is set by the build, never in the file."""
    source: tuple[SourceSettings, ...] = Field((), validate_default=True)
    """The sources, read in this order."""
    sources: SourcesSettings = SourcesSettings()
    """How all sources are read."""
    limits: LimitsSettings = LimitsSettings()
    """What one source may cost."""
    enrichment: EnrichmentSettings = EnrichmentSettings()
    """Who writes the expansions."""
    assessment: AssessmentSettings = AssessmentSettings()
    """How phrases are judged against the catalog."""
    vectors: VectorSettings = VectorSettings()
    """The encoder."""
    tuning: TuningSettings = TuningSettings()
    """What a build learns."""
    retrieval: RetrievalSettings = RetrievalSettings()
    """The default recipe."""
    publish: PublishSettings = PublishSettings()
    """Gates and retention."""
    ledger: LedgerSettings = LedgerSettings()
    """Copies of the ledger."""
    notify: NotifySettings = NotifySettings()
    """The hook."""
    metrics: MetricsSettings = MetricsSettings()
    """The file of metrics."""
    flow: FlowSettings = FlowSettings()
    """Prefect."""

    _outside: Mapping[tuple[int | str, ...], str] = PrivateAttr(default_factory=dict)

    @classmethod
    def sections(cls) -> tuple[str, ...]:
        """Return the names of the fields that are sections of their own, in order."""
        fields = ((name, field.annotation) for name, field in cls.model_fields.items())
        return tuple(name for name, kind in fields if isinstance(kind, type) and issubclass(kind, Section))

    @field_validator("source")
    @classmethod
    def _some(cls, value: tuple[SourceSettings, ...]) -> tuple[SourceSettings, ...]:
        if not value:
            raise ValueError("write one [[source]] for each file, command or URL")
        return value

    @field_validator("name")
    @classmethod
    def _folder_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", value):
            raise ValueError(f"{value!r} cannot name a folder here: use letters, digits, '.', '_' and '-'")
        return value

    def given_outside(self, fields: Mapping[tuple[int | str, ...], str]) -> "CatalogSettings":
        """Return the settings as ones of which some `(section, field)` were not taken from the catalog's file.

        Each has the variable of the environment that set it, or "" where the caller did.
        """
        settings = self.model_copy()
        settings._outside = fields
        return settings

    def set_outside(self, section: str, field: str) -> str | None:
        """Return the variable that set a field, "" for the caller; None where the catalog's file did, if anybody."""
        return self._outside.get((section, field))

    @property
    def assesses(self) -> bool:
        """Return whether phrases are assessed against the whole catalog, which takes vectors."""
        return self.assessment.enabled and self.vectors.encoder != "none"

    @property
    def taught_by_judgements(self) -> bool:
        """Return whether the catalog's judged requests teach what they would then measure."""
        file = judgements_of(self.folder)
        usage = self.resolve(self.tuning.usage).resolve() if self.tuning.usage else None
        return file is not None and (self.tuning.judged or usage == file.resolve())

    def folder_of(self, source: SourceSettings) -> Path:
        """Return the folder in which a source's command runs."""
        return self.resolve(source.cwd) if source.cwd else self.folder

    def resolve(self, path: Path) -> Path:
        """Return a path of the catalog; a relative one starts at the catalog's folder."""
        return path if path.is_absolute() else self.folder / path
