"""Who writes the expansions, at which limits and prices, and how their phrases are judged."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from pipeline.settings.base import Section, Share
from router.text import ENGLISH, LANGUAGES


class Price(Section):
    """The price of one model, in US dollars for a million tokens."""

    input: float = Field(ge=0)
    """Of input tokens that the server's prompt cache does not hold."""
    cached: float = Field(ge=0)
    """Of input tokens that the server's prompt cache holds."""
    output: float = Field(ge=0)
    """Of output tokens, reasoning included."""
    batch: float = Field(0.5, ge=0, le=1)
    """The share of these prices that the Batch API takes."""


class BatchSettings(Section):
    """The Batch API."""

    poll_s: float = Field(30.0, gt=0)
    """Seconds between two looks at a batch."""
    wait_s: float = Field(1800.0, ge=0)
    """Seconds that a build waits for its batches. A later build collects those that are not ready by then."""
    max_requests: int = Field(50_000, ge=1, le=50_000)
    """Requests in one batch file. OpenAI allows 50,000."""
    max_bytes: int = Field(190_000_000, ge=10_000)
    """Bytes of one batch file. OpenAI allows 200 MB."""


class EnrichmentSettings(Section):
    """Who writes the expansions, how fast, and at what price."""

    generator: Literal["auto", "openai", "none"] = "auto"
    """Who writes. `openai` is any server with OpenAI's chat API; `auto` is `openai` where a key or a base URL is set;
    else what a model wrote before serves."""
    expansions: Path | None = None
    """A file of expansions that were written ahead. It is used first, whatever the generator."""
    model: str = "gpt-5-mini"
    """The model's name, as the server knows it."""
    base_url: str | None = None
    """The server's address; also `OPENAI_BASE_URL`. Without it, OpenAI's own. To another one in `catalog.toml` a key of
    the environment goes once whoever builds has allowed it."""
    api_key: SecretStr | None = None
    """The server's key; better set as `OPENAI_API_KEY`. A local server may need none."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Further parameters of each request, such as `temperature` or `reasoning_effort`."""
    mode: Literal["direct", "batch"] = "direct"
    """`direct` asks while the build waits; `batch` submits all questions at once, at half the price (`--batch`)."""
    requests_per_minute: float | None = Field(None, gt=0)
    """The account's limit. Without it, the limits in the server's headers are followed."""
    tokens_per_minute: float | None = Field(None, gt=0)
    """The account's limit. Without it, the limits in the server's headers are followed."""
    concurrency: int | None = Field(None, ge=1, le=512)
    """Requests at once. Without it, as many as the limits need; without limits, 8 to 128, as long as that pays."""
    timeout_s: float = Field(60.0, gt=0)
    """Seconds until a request counts as failed."""
    max_retries: int = Field(3, ge=0, le=20)
    """Further attempts at a request that failed for a passing reason: a time-out, a lost connection, 429, 5xx."""
    retry_delay_s: float = Field(0.5, ge=0)
    """Seconds before the first further attempt; they double with each."""
    max_cost_usd: float | None = Field(None, ge=0)
    """The most that one build may spend (`--max-cost`). What is left over, a later build asks."""
    max_tools: int | None = Field(None, ge=0)
    """The most tools that one build may ask about (`--max-tools`)."""
    max_reasked_share: Share = 0.05
    """Ask about tools whose records change again and again (a date, a counter) in each build only if they are no larger
    share of their source; else after 2, 4, 8 … builds, and their earlier phrases serve meanwhile. 1 asks in each."""
    contrast: bool = True
    """Ask once more about tools whose phrases fit a sibling as well, with the siblings shown."""
    languages: tuple[str, ...] = (ENGLISH,)
    """Languages of the phrases, by ISO 639-1 code. English is always among them, and first."""
    batch: BatchSettings = BatchSettings()
    """The Batch API."""
    prices: dict[str, Price] = Field(
        default_factory=lambda: {"gpt-5-mini": Price(input=0.25, cached=0.025, output=2.0)}
    )
    """Prices by model."""

    @field_validator("languages", mode="before")
    @classmethod
    def _separated(cls, value: Any) -> Any:
        return value.replace(",", " ").split() if isinstance(value, str) else value  # as the environment has it

    @field_validator("languages")
    @classmethod
    def _supported(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        codes = {code.strip().lower() for code in value}
        if unknown := sorted(codes - set(LANGUAGES)):
            raise ValueError(
                f"{unknown[0]!r} is not a language that can be indexed: choose from {', '.join(LANGUAGES)}"
            )
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
        """Return whether an OpenAI-compatible server is configured: by a key, or by a base URL that may need none."""
        return self.api_key is not None or self.base_url is not None

    @property
    def other_languages(self) -> tuple[str, ...]:
        """Return the configured languages beside English."""
        return tuple(language for language in self.languages if language != ENGLISH)


class AssessmentSettings(Section):
    """How phrases are judged against the whole catalog.

    A text's fit is by how many standard deviations of its scores it fits its own tool better than the mean tool; its
    lead is by how many the best other tool is ahead of its own. See docs/decisions/phrase-checks.md.
    """

    enabled: bool = True
    """Whether phrases are judged against the whole catalog."""
    misplaced_fit: float = 2.0
    """An answer is refused if its phrases have a lower fit than this, and a higher `misplaced_lead`, to the record and
    to its label, name and parameters alone: the higher of both fits, and the mean of both leads."""
    misplaced_lead: float = Field(2.5, gt=0)
    """See `misplaced_fit`."""
    inconsistent_fit: float = 0.5
    """A single phrase is dropped if it has a lower fit than this, and a higher `inconsistent_lead`."""
    inconsistent_lead: float = Field(5.0, gt=0)
    """See `inconsistent_fit`."""
    unsupported_fit: float = 1.5
    """A text with a lower fit than this to its tool's name and subject sentence is unsupported. It is dropped only if
    the record may have asked for it: see docs/decisions/phrase-checks.md."""
    foreign_fit: float = 1.0
    """A part of a record with a lower fit than this to its own name and subject sentence is about something else."""
    supported_fit: float = 2.0
    """A phrase with at least this fit to its tool's name and subject sentence stands for the tool beside them."""
    foreign_lead: float = Field(2.0, gt=0)
    """A phrase with a lower fit than `foreign_fit` to all that stands for its tool, and a higher lead than this at a
    tool of another source, is foreign. A tool with two such loses them, and with three and two fifths of its texts all
    below `steered_fit`, where its record may have asked for them."""
    echo_similarity: float = Field(0.6, gt=0, le=1)
    """An unsupported text with a higher cosine than this to a foreign part of its record echoes it. A record with two
    echoes steered the model."""
    steered_fit: float = 2.5
    """Of a tool whose record steered, every text with a lower fit than this is dropped."""
    repeat_similarity: float = Field(0.8, gt=0, le=1)
    """A single echo is dropped if its cosine is higher than this."""
    readable_share: Share = 0.6
    """A part of a record of whose character trigrams the catalog knows less than this share is in no language of it."""
    sibling_share: float = Field(0.375, gt=0, le=1)
    """A tool that this share of another tool's phrases fit as well or better, and at least two, is its sibling."""
    max_share: Share = 0.2
    """Where a larger share of most sources' tools or phrases fits other tools, the encoder is at fault: the phrases are
    only noted. A source of which a larger share of the new or changed records steered the model is held back."""
