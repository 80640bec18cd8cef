"""What a snapshot is made with and when it serves: encoder, learning, recipe, gates."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from pipeline.errors import SettingsInvalid
from pipeline.settings.base import Section, Share
from router.retrieval.recipe import RECIPES, Recipe


class VectorSettings(Section):
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


class TuningSettings(Section):
    """What a build learns from the catalog itself, and from its use.

    `adapter`: learn the query adapter from the written phrases. The serving one is reused while at most the share
    `max_stale_share` of its phrases has changed; with 0 it is learned at every build.
    `calibrate`: estimate the probability that some tool fits, with a threshold that wrongly refuses
    `max_refused_share` of the requests that a tool fits. It is fitted to the phrases and, with `judged`, to the
    catalog's judged requests, which then cannot measure it.

    `usage`: a JSONL file of past requests and the tools that they led to, for the intent signal. `fit_weights`: fit the
    recipe's weights to them as well. Judged requests given as usage cannot measure the snapshot either.
    """

    adapter: bool = True
    max_stale_share: Share = 0.05
    calibrate: bool = True
    judged: bool = False
    max_refused_share: float = Field(0.05, gt=0, lt=1)
    usage: Path | None = None
    fit_weights: bool = False

    def untaught(self) -> "TuningSettings":
        """Return the same settings without learning from judged or past requests."""
        return self.model_copy(update={"judged": False, "usage": None, "fit_weights": False})

    @model_validator(mode="after")
    def _fits_to_something(self) -> "TuningSettings":
        if self.fit_weights and self.usage is None:
            raise ValueError("fit_weights needs past requests: name their file in usage")
        return self


class RetrievalSettings(Section):
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
        """Return the recipe itself."""
        return RECIPES[self.recipe] if isinstance(self.recipe, str) else Recipe.from_json(self.recipe)


class PublishSettings(Section):
    """The gates and the retention. A snapshot that a gate holds back is kept, and CURRENT stays where it was.

    Sources that could not be read (`sources.skip_unreadable`) are skipped: their share of all sources counts, and the
    share of the serving tools that came from them. One file of five may be missing, but not the one with most tools.

    A budget, or a batch that is not ready, postpones tools to a later build: the lexicon serves them meanwhile, so by
    default they hold nothing back.

    With `judged`, a catalog that has judgements is measured: a snapshot is held that answers them worse than what
    serves, by more than `smallest_loss` and beyond chance (p below `significance`), in full@10 or ndcg@10.
    """

    keep: int = Field(5, ge=1)
    max_rejected_share: Share = 0.05
    max_skipped_share: Share = 0.2
    max_failed_share: Share = 0.2
    max_postponed_share: Share = 1.0
    judged: bool = True
    # At most one of twenty equally good snapshots is held: two metrics, each two-sided, of which one side holds.
    significance: Share = 0.05
    # With thousands of requests a loss that nobody would notice is beyond chance.
    smallest_loss: Share = 0.005
    # Requests of one measurement, spread evenly over the file. See docs/decisions/0027-judged-requests-of-a-build.md.
    max_judged: int = Field(1000, ge=1)
