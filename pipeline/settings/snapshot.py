"""What a snapshot is made with and when it serves: encoder, learning, recipe, gates."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from pipeline.errors import SettingsInvalid
from pipeline.settings.base import Duration, Section, Share
from pipeline.store.private_keys import PEM_START
from router.errors import quoted
from router.retrieval.recipe import RECIPES, Recipe
from router.snapshot.store.bucket.url import checked_url

CandidateEngine = Literal["faiss", "lancedb"]


class VectorSettings(Section):
    """The encoder, which turns texts into vectors."""

    encoder: str = "auto"
    """`bge`, `bge-base`, `bge-large`, `multilingual`, a sentence-transformers model by its id on the hub (`id@revision`
    pins one) or its folder, a delta's folder, `minilm-tools-v1` (the delta that comes with Quartermaster, over the
    packaged all-MiniLM-L6-v2), `all-MiniLM-L6-v2` without it, `none`, or `auto`: the encoder of the snapshot that
    serves, at first `minilm-tools-v1`. See docs/models.md."""
    query_prefix: str | None = None
    """Text before each request; by default as the model declares it."""
    document_prefix: str | None = None
    """Text before each text of a tool; by default as the model declares it."""
    precision: Literal["auto", "fp32", "int8"] = "auto"
    """The precision of the encoder, for tools and requests alike: `auto` is int8 where it agrees with the model, else
    fp32."""
    batch_size: int = Field(16, ge=1)
    """The most texts that are embedded at once."""
    engine: CandidateEngine = "faiss"
    """What finds the candidates of a large catalog: `faiss` in an index that a router holds in memory, `lancedb` in a
    table on disk. The second takes the extra `lancedb`, in builds and routers. See docs/past_one_machine.md."""


class TuningSettings(Section):
    """What a build learns from the catalog itself, and from its use."""

    adapter: bool = True
    """Learn the query adapter from the written phrases."""
    max_stale_share: Share = 0.05
    """Reuse the serving adapter while at most this share of the phrases that it learned from has changed; 0 learns at
    every build."""
    calibrate: bool = True
    """Estimate the probability that some tool fits."""
    judged: bool = False
    """Fit the calibration to the catalog's judged requests too, which then cannot measure it."""
    max_refused_share: float = Field(0.05, gt=0, lt=1)
    """The share of answerable requests that the calibration's threshold may refuse."""
    usage: Path | None = None
    """A JSONL file of past requests and the tools that they led to, for the intent signal. Judged requests given here
    cannot measure the snapshot any more."""
    feedback: Path | None = None
    """The folder of a feedback log, for the intent signal: what answers offered, and what became of it. See
    docs/feedback.md."""
    feedback_days: int = Field(90, ge=1, le=3_650)
    """A build removes older events of the feedback log."""
    feedback_max_bytes: int = Field(67_108_864, ge=65_536)
    """The greatest size of the feedback log's Parquet file; a build removes the oldest events first."""
    fit_weights: bool = False
    """Fit the recipe's weights to the past requests as well."""

    def content(self) -> dict[str, Any]:
        """Return what a snapshot's content depends on, JSON-ready."""
        left_out = {"feedback_days", "feedback_max_bytes"}
        if self.feedback is None:
            left_out.add("feedback")
        return self.model_dump(mode="json", exclude=left_out)

    def untaught(self) -> "TuningSettings":
        """Return the same settings without learning from judged or past requests."""
        return self.model_copy(update={"judged": False, "usage": None, "feedback": None, "fit_weights": False})

    @model_validator(mode="after")
    def _fits_to_something(self) -> "TuningSettings":
        if self.fit_weights and self.usage is None and self.feedback is None:
            raise ValueError("fit_weights needs past requests: name their file in usage, or a log in feedback")
        return self


class RetrievalSettings(Section):
    """The snapshot's default recipe: a published one by name, or one written out."""

    recipe: str | dict[str, Any] = "default"
    """The name of a published recipe, or a table that writes one out."""
    prerequisites: bool = True
    """Find the tools that must run first, and bring them, where the recipe does. `false` turns it off in any recipe.
    See docs/prerequisites.md."""
    implicit_needs: bool = True
    """Bring a tool for what a request only implies, such as writing "to report.md", where the recipe does. `false`
    turns it off in any recipe."""

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
            raise ValueError(f"there is no recipe {quoted(value)}: choose from {', '.join(RECIPES)}")
        if isinstance(value, dict):
            try:
                Recipe.from_json(value)
            except SettingsInvalid as error:
                raise ValueError(str(error).removeprefix("recipe: ")) from error
        return value

    def resolve(self) -> Recipe:
        """Return the recipe itself."""
        recipe = RECIPES[self.recipe] if isinstance(self.recipe, str) else Recipe.from_json(self.recipe)
        return replace(
            recipe,
            prerequisites=recipe.prerequisites and self.prerequisites,
            implicit_needs=recipe.implicit_needs and self.implicit_needs,
        )


class PublishSettings(Section):
    """The gates and the retention. A snapshot that a gate holds back is kept, and CURRENT stays where it was."""

    to: str | None = None
    """The catalog's address in a bucket, such as `s3://bucket/catalogs/demo`: builds publish there, and keep a copy in
    the workspace. By default they publish only in the workspace. Credentials come from the environment. See
    docs/past_one_machine.md."""
    grace: Duration = timedelta(days=1)
    """In a bucket, how long a snapshot that retention has removed, and a file that no snapshot needs, stay there. No
    upload and no router that fetches a snapshot may take longer."""
    sign_key: str | None = None
    """The private key that signs snapshots: a PEM file, or `${NAME}` for the variable that holds its text. See
    docs/operations.md."""
    keep: int = Field(5, ge=1)
    """How many snapshots that may serve stay, the newest. The current one, a pinned one, and the one that a rollback
    would go to stay too."""
    max_rejected_share: Share = 0.05
    """Hold back a snapshot if a larger share of the records was rejected."""
    max_skipped_share: Share = 0.2
    """Hold back a snapshot if a larger share of the sources was skipped, or of the serving tools came from them. One
    file of five may be missing, but not the one with most tools."""
    max_removed_share: Share = 0.2
    """Hold back a snapshot if a larger share of a source's serving tools was removed, or of all serving tools. It takes
    at least three removed tools. Tools of skipped sources count only for `max_skipped_share`."""
    max_failed_share: Share = 0.2
    """Hold back a snapshot if the model failed on a larger share of the tools."""
    max_postponed_share: Share = 1.0
    """Hold back a snapshot if a larger share of the tools was postponed, by a budget or by a batch that is not ready.
    They are found without phrases meanwhile, so by default they hold nothing back."""
    max_downgraded_share: Share = 0.05
    """Hold back a snapshot if a larger share of the tools that a model or a file wrote for, and at least three, would
    lose their phrases."""
    judged: bool = True
    """Measure a catalog that has judgements. A snapshot is held back that answers them worse than the serving one, in
    full@10 or ndcg@10, by more than `smallest_loss` and beyond chance."""
    # At most one of twenty equally good snapshots is held: two metrics, each two-sided, of which one side holds.
    significance: Share = 0.05
    """The p below which a loss is beyond chance."""
    smallest_loss: Share = 0.005
    """A smaller loss holds nothing back: with thousands of requests a loss that nobody notices is beyond chance."""
    max_judged: int = Field(1000, ge=1)
    """The most requests of one measurement, spread evenly over the file. See docs/decisions/gates.md."""
    quarantine: bool = True
    """Hold back a new or changed tool alone that takes other tools' requests which its name and the first sentence of
    its description do not fit. The rest of the build is published. It takes vectors."""
    quarantine_requests: int = Field(5, ge=1)
    """The fewest requests of other providers' tools that such a tool enters the first five of."""
    quarantine_distance: Share = 0.36
    """How far these requests may be from it, in the mean: a request is far where other requests are nearer to the
    tool's name and first sentence, and other tools' are nearer to the request. 0.5 is by chance.
    See docs/decisions/gates.md."""
    max_probes: int = Field(1000, ge=1)
    """The most requests that new and changed tools are tried on: judged ones, and phrases of the tools that serve."""

    @field_validator("to")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        try:
            return checked_url(value) if value is not None else None
        except SettingsInvalid as error:
            raise ValueError(str(error)) from error

    @field_validator("sign_key")
    @classmethod
    def _no_key_itself(cls, value: str | None) -> str | None:
        if value is not None and (PEM_START in value or not value.strip()):
            raise ValueError("it must be the path of a private key, or ${NAME} of a variable, never the key itself")
        return value
