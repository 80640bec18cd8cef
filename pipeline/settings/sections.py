"""The sections of the settings: each field with its type, its bounds and its default."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from pipeline.errors import SettingsInvalid
from pipeline.settings import variables
from pipeline.settings.access import OAuthSettings, check_env, check_headers
from pipeline.settings.fields import FieldSettings
from pipeline.settings.section import Section as _Section
from pipeline.settings.source_formats import SourceFormat
from router.evaluation import judgements_of
from router.retrieval.recipe import RECIPES, Recipe
from router.text import ENGLISH, LANGUAGES

Share = Annotated[float, Field(ge=0, le=1)]


class SourceSettings(_Section):
    """One source of a catalog: a file (`path`), or what a `command` or `url` gives at each build.

    Without a format, or as "mcp", a command (over stdio) or url is a live MCP server; as any other format, the
    command's standard output, or the body of the GET, is a document of that format. `fields` says where a document of
    another shape has what a tool is made of.

    `headers` go to the `url` alone, `env` to the `command`; in their values, in `oauth` and in `url` the environment
    fills in `${VARIABLE}` when the source is read.
    """

    format: SourceFormat | None = None
    path: Path | None = None
    command: tuple[str, ...] | None = None
    url: str | None = None
    provider: str | None = None
    fields: FieldSettings | None = None
    timeout_s: float = Field(30.0, gt=0)
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    env: dict[str, SecretStr] = Field(default_factory=dict)
    oauth: OAuthSettings | None = None

    @model_validator(mode="after")
    def _one_place(self) -> "SourceSettings":
        if sum(place is not None for place in (self.path, self.command, self.url)) != 1:
            raise ValueError("a source has exactly one of path, command and url")
        if self.command is not None and not self.command:
            raise ValueError("command is empty: it holds the program and its arguments")
        if self.url is not None and not _may_be_web(self.url):
            raise ValueError("url is no address of http or https")
        if self.fields is not None and (self.format == "openapi" or self.is_live_server):
            what = "an OpenAPI document says itself" if self.format == "openapi" else "a live MCP server says itself"
            raise ValueError(f"fields map a document of another shape: {what} where everything is")
        return self

    @model_validator(mode="after")
    def _asked_with(self) -> "SourceSettings":
        if (self.headers or self.oauth) and self.url is None:
            raise ValueError(f"{'headers' if self.headers else 'oauth'} are for a url")
        if self.env and self.command is None:
            raise ValueError("env is for a command")
        if self.oauth and not self.is_live_server:
            raise ValueError("oauth is for an MCP server: send another document's token in headers")
        if self.oauth and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("the header Authorization is what oauth gives: leave one of the two out")
        check_headers(self.headers)
        check_env(self.env)
        return self

    @property
    def is_live_server(self) -> bool:
        """Whether it is an MCP server to be asked, not a document."""
        return self.path is None and self.format in (None, "mcp")

    @property
    def label(self) -> str:
        """A short name for progress and tasks, without what may be a secret."""
        if self.provider is not None:
            return self.provider
        if self.path is not None:
            return self.path.name
        return urlsplit(self.url).hostname or "url" if self.url else Path((self.command or ("",))[0]).name


class SourcesSettings(_Section):
    """How all sources are read. `skip_unreadable`: go on without a source that cannot be read; the gate counts it."""

    skip_unreadable: bool = False


class Price(_Section):
    """US dollars for a million tokens; `batch` is the share of it that the Batch API takes."""

    input: float = Field(ge=0)
    cached: float = Field(ge=0)
    output: float = Field(ge=0)
    batch: float = Field(0.5, ge=0, le=1)


class BatchSettings(_Section):
    """The Batch API. A build waits `wait_s` for what it handed in; a later one collects what is not ready by then."""

    poll_s: float = Field(30.0, gt=0)
    wait_s: float = Field(1800.0, ge=0)
    # OpenAI's own limits: 50,000 requests and 200 MB a file.
    max_requests: int = Field(50_000, ge=1, le=50_000)
    max_bytes: int = Field(190_000_000, ge=10_000)


class EnrichmentSettings(_Section):
    """Who writes the expansions. `expansions` are replayed first, whatever the generator.

    `mode` "direct" asks while the build waits; "batch" hands all questions in at once, at half the price. Limits are
    those of the account; without them the server's headers are followed. Without `concurrency` as many requests are
    under way as the limits need, or 8. `max_cost_usd` and `max_tools` are of one build.
    """

    generator: Literal["auto", "openai", "lexicon", "none"] = "auto"
    expansions: Path | None = None
    # What a tool gets when the model fails on it: without any expansion it would lose ground to tools that have one.
    fallback: Literal["lexicon", "none"] = "lexicon"
    model: str = "gpt-5-mini"
    base_url: str | None = None
    api_key: SecretStr | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    mode: Literal["direct", "batch"] = "direct"
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1, le=512)
    tools_per_request: int = Field(1, ge=1, le=16)
    timeout_s: float = Field(60.0, gt=0)
    max_retries: int = Field(3, ge=0, le=20)
    retry_delay_s: float = Field(0.5, ge=0)
    max_cost_usd: float | None = Field(None, ge=0)
    max_tools: int | None = Field(None, ge=0)
    # Tools whose phrases fit a sibling as well are asked about once more, beside their siblings.
    contrast: bool = True
    # Of the phrases, by ISO 639-1 code. English is always among them, and first.
    languages: tuple[str, ...] = (ENGLISH,)
    batch: BatchSettings = BatchSettings()
    prices: dict[str, Price] = Field(
        default_factory=lambda: {"gpt-5-mini": Price(input=0.25, cached=0.025, output=2.0)},
    )

    @field_validator("languages", mode="before")
    @classmethod
    def _separated(cls, value: Any) -> Any:
        return value.replace(",", " ").split() if isinstance(value, str) else value  # as the environment has it

    @field_validator("languages")
    @classmethod
    def _supported(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        codes = {code.strip().lower() for code in value}
        if unknown := sorted(codes - set(LANGUAGES)):
            raise ValueError(f"{unknown[0]!r} is no language that can be indexed: choose from {', '.join(LANGUAGES)}")
        return (ENGLISH, *sorted(codes - {ENGLISH}))

    @model_validator(mode="after")
    def _priced(self) -> "EnrichmentSettings":
        if self.max_cost_usd is not None and self.reaches_model and self.model not in self.prices:
            raise ValueError(
                f"max_cost_usd needs the price of {self.model!r}: set it in enrichment.prices, in US dollars "
                "for a million tokens"
            )
        return self

    @property
    def reaches_model(self) -> bool:
        """Whether an OpenAI-compatible server is configured: by a key, or by a base URL that may need none."""
        return self.api_key is not None or self.base_url is not None

    @property
    def other_languages(self) -> tuple[str, ...]:
        """The configured languages beside English."""
        return tuple(language for language in self.languages if language != ENGLISH)


class AssessmentSettings(_Section):
    """How phrases are judged against the whole catalog. A fit is by how many standard deviations of its scores a text
    fits its own tool better than the mean tool, a lead by how many the best other tool is ahead of its own.
    """

    enabled: bool = True
    # Tools whose phrases together have no better fit and this lead lose them. With the answers of a tenth of the tools
    # swapped, nDCG@10 on Azure's MCP tools, UltraTool, MetaTool and the demo falls by .052, .020, .052 and .053; with
    # the check by .036, .012, .034 and .041, where to know those tools gives .036, .012, .034 and .038: .90, 1, 1 and
    # .79 of them are found. Of 1,038 right tools one is lost (-.0005 on MetaTool), whose record says next to nothing;
    # of the four sets and 3,605 tools more in one catalog, two.
    misplaced_fit: float = 2.0
    misplaced_lead: float = Field(3.0, gt=0)
    # So is a single phrase. Of phrases moved to a random tool .32, .43, .49 and .13 are found, and 5 good ones of 7,676
    # lost (nDCG@10 -.0001 at most). No looser: wrong phrases cost little (.002 at most, where a tenth of the tools get
    # three of random others), and those that look worst are often the best, saying what no record says. The usual test,
    # the own tool among the 10 nearest, takes .02, .06, .05 and .22 of the good ones, and .046 of the demo's full@10.
    inconsistent_fit: float = 0.5
    inconsistent_lead: float = Field(5.0, gt=0)
    # A sibling is a tool that this share of a tool's phrases, and at least two, fit as well or better. To drop those
    # costs .01 to .08 of nDCG@10: they are noted. Each is a second question, and .26, .36, .16 and .61 of the tools
    # have siblings; .47, .55, .33 and .81 at .25, where .60, .33, .17 and .19 of the pairs that a router confuses are
    # siblings, and not .24, .29, .06 and .11.
    sibling_share: float = Field(0.375, gt=0, le=1)
    # Where more of the tools, or of the phrases, would go, the encoder or the catalog is at fault: they are noted.
    max_share: Share = 0.2


class VectorSettings(_Section):
    """Which encoder. `auto`: `preferred` if it is on disk or the hub answers, else the packaged all-MiniLM-L6-v2.

    `precision` is that of requests: `auto` is int8 where it agrees with the model
    (router/encoding/export/quantization.py), else fp32; tools are embedded in fp32. `batch_size`: at most so many
    texts at once.
    """

    encoder: str = "auto"
    preferred: str = "BAAI/bge-base-en-v1.5"
    query_prefix: str | None = None
    precision: Literal["auto", "fp32", "int8"] = "auto"
    batch_size: int = Field(16, ge=1)


class TuningSettings(_Section):
    """What a build learns from the catalog itself, and from its use.

    `adapter`: the query adapter, from the written phrases; the one that serves is taken over while no more than the
    share `max_stale_share` of the phrases that it was learned from has changed, and with 0 is learned at every build.
    `calibrate`: the probability that some tool fits, with a threshold that wrongly refuses `max_refused_share` of the
    requests that a tool fits; from the phrases, and from the catalog's judged requests too where `judged` says so: they
    then tell nothing of how good it is.

    `usage`: a JSONL file of past requests and the tools that they led to, for the intent signal. `fit_weights`: fit the
    recipe's weights to them as well. Of judged requests that are given as usage the same holds.
    """

    adapter: bool = True
    max_stale_share: Share = 0.05
    calibrate: bool = True
    judged: bool = False
    max_refused_share: float = Field(0.05, gt=0, lt=1)
    usage: Path | None = None
    fit_weights: bool = False

    def untaught(self) -> "TuningSettings":
        """The same without what judged requests, or past ones, teach."""
        return self.model_copy(update={"judged": False, "usage": None, "fit_weights": False})

    @model_validator(mode="after")
    def _fits_to_something(self) -> "TuningSettings":
        if self.fit_weights and self.usage is None:
            raise ValueError("fit_weights needs past requests: name their file in usage")
        return self


class RetrievalSettings(_Section):
    """The snapshot's default recipe: a published one by name, or one written out."""

    recipe: str | dict[str, Any] = "default"

    @field_validator("recipe", mode="before")
    @classmethod
    def _named_or_written_out(cls, value: Any) -> Any:
        if not isinstance(value, str | dict):
            raise ValueError("it must be the name of a recipe, or a table that writes one out")
        return value

    @field_validator("recipe")
    @classmethod
    def _known(cls, value: str | dict[str, Any]) -> str | dict[str, Any]:
        if isinstance(value, str) and value not in RECIPES:
            raise ValueError(f"there is no recipe {value!r}: choose from {', '.join(RECIPES)}")
        if isinstance(value, dict):
            try:
                Recipe.from_json(value)
            except SettingsInvalid as error:
                raise ValueError(str(error).removeprefix("recipe: ")) from error
        return value

    def resolve(self) -> Recipe:
        """The recipe itself."""
        return RECIPES[self.recipe] if isinstance(self.recipe, str) else Recipe.from_json(self.recipe)


class PublishSettings(_Section):
    """The gate and the retention. A snapshot that a share holds back is kept, and CURRENT stays where it was.

    Skipped are sources that could not be read (`sources.skip_unreadable`): their share of the sources counts, and
    that of the serving tools which came from them. One file of five may be missing, not the one with most tools.

    Postponed are tools that a budget, or a batch still under way, left to a later build: the lexicon serves them
    meanwhile, so by default they hold nothing back.

    A catalog with judgements is measured too, unless not `judged`: held back is what answers them worse than what
    serves, by more than `smallest_loss` and beyond chance (p below `significance`), in full@10 or ndcg@10.
    """

    keep: int = Field(5, ge=1)
    max_rejected_share: Share = 0.05
    max_skipped_share: Share = 0.2
    max_failed_share: Share = 0.2
    max_postponed_share: Share = 1.0
    judged: bool = True
    # Of two snapshots that are equally good, at most one in twenty is held: two metrics, each two-sided, one side of
    # which holds.
    significance: Share = 0.05
    # With thousands of requests a loss that nobody would notice is beyond chance.
    smallest_loss: Share = 0.005
    # Requests of one measurement, drawn evenly. 1,000 for two snapshots take half a minute at 13 ms a route; as two
    # recipes differ on the demo (standard deviation .20 a request), a loss of .018 nDCG is seen four times in five.
    max_judged: int = Field(1000, ge=1)


class FlowSettings(_Section):
    """How a build runs as a Prefect flow: one batch a task. Only what did not answer is tried again.

    `wait_s` is how long to wait for another build of the workspace: two catalogs may be due at the same hour.
    """

    # A task costs about 25 ms: thousands of tools must not become thousands of tasks.
    batch_size: int = Field(256, ge=1)
    retries: int = Field(2, ge=0, le=10)
    retry_delay_s: float = Field(10.0, ge=0)
    timeout_s: float = Field(3600.0, gt=0)
    wait_s: float = Field(3600.0, ge=0)


class CatalogSettings(_Section):
    """A catalog and all that steers its build."""

    name: str
    folder: Path
    source: tuple[SourceSettings, ...] = Field(min_length=1)
    sources: SourcesSettings = SourcesSettings()
    enrichment: EnrichmentSettings = EnrichmentSettings()
    assessment: AssessmentSettings = AssessmentSettings()
    vectors: VectorSettings = VectorSettings()
    tuning: TuningSettings = TuningSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    publish: PublishSettings = PublishSettings()
    flow: FlowSettings = FlowSettings()

    @field_validator("name")
    @classmethod
    def _folder_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", value):
            raise ValueError(f"{value!r} cannot name a folder here: use letters, digits, '.', '_' and '-'")
        return value

    @property
    def assesses(self) -> bool:
        """Whether phrases are held against the whole catalog, which takes vectors."""
        return self.assessment.enabled and self.vectors.encoder != "none"

    @property
    def taught_by_judgements(self) -> bool:
        """Whether the catalog's judged requests teach what they would then measure."""
        file = judgements_of(self.folder)
        usage = self.resolve(self.tuning.usage).resolve() if self.tuning.usage else None
        return file is not None and (self.tuning.judged or usage == file.resolve())

    def resolve(self, path: Path) -> Path:
        """A path of the catalog, relative to its folder."""
        return path if path.is_absolute() else self.folder / path


def is_web(url: str) -> bool:
    """Return whether a URL is one of http or https that can be asked."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # quotes the user and password of what it refuses
        return False


def _may_be_web(url: str) -> bool:
    """Return whether a URL is one of http or https, as far as that can be told before its variables are known."""
    written = variables.check(url)
    if not variables.has_variables(written):
        return is_web(written)
    return written.startswith("${") or is_web(variables.stand_in(written))
