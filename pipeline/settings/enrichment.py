"""Who writes the expansions, at which limits and prices, and how their phrases are judged."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from pipeline.settings.base import Section, Share
from router.text import ENGLISH, LANGUAGES


class Price(Section):
    """US dollars for a million tokens; the Batch API takes the share `batch` of them."""

    input: float = Field(ge=0)
    cached: float = Field(ge=0)
    output: float = Field(ge=0)
    batch: float = Field(0.5, ge=0, le=1)


class BatchSettings(Section):
    """The Batch API. A build waits `wait_s` for its batches; a later one collects those that are not ready by then."""

    poll_s: float = Field(30.0, gt=0)
    wait_s: float = Field(1800.0, ge=0)
    # OpenAI's own limits: 50,000 requests and 200 MB a file.
    max_requests: int = Field(50_000, ge=1, le=50_000)
    max_bytes: int = Field(190_000_000, ge=10_000)


class EnrichmentSettings(Section):
    """Who writes the expansions. The file `expansions` is used first, whatever the generator.

    `mode` "direct" asks while the build waits; "batch" submits all questions at once, at half the price. Limits are
    those of the account; without them the server's headers are followed. Without `concurrency` as many requests run at
    once as the limits need, or 8. `max_cost_usd` and `max_tools` bound one build.
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
        """Return whether an OpenAI-compatible server is configured: by a key, or by a base URL that may need none."""
        return self.api_key is not None or self.base_url is not None

    @property
    def other_languages(self) -> tuple[str, ...]:
        """Return the configured languages beside English."""
        return tuple(language for language in self.languages if language != ENGLISH)


class AssessmentSettings(Section):
    """How phrases are judged against the whole catalog.

    A text's fit is by how many standard deviations of its scores it fits its own tool better than the mean tool; its
    lead is by how many the best other tool is ahead of its own. See docs/decisions/0026-assessment-thresholds.md.
    """

    enabled: bool = True
    # Tools whose phrases together have a lower fit and a higher lead lose them.
    misplaced_fit: float = 2.0
    misplaced_lead: float = Field(3.0, gt=0)
    # A single phrase is lost in the same way.
    inconsistent_fit: float = 0.5
    inconsistent_lead: float = Field(5.0, gt=0)
    # A sibling is a tool that this share of a tool's phrases, and at least two, fit as well or better: it is noted.
    sibling_share: float = Field(0.375, gt=0, le=1)
    # Where more of the tools, or of the phrases, would go, the encoder or the catalog is at fault: they are noted.
    max_share: Share = 0.2
