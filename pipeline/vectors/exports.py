"""The copies of the encoder that a build needs."""

from dataclasses import dataclass, field
from functools import partial

from pipeline import vectors
from pipeline.execution import Execution
from pipeline.settings import CatalogSettings


@dataclass(frozen=True)
class EncoderExports:
    """The exported encoders of a build, from the user's cache, each made when first asked for: tools are embedded in
    fp32, once, and requests encoded in the precision of the settings."""

    settings: CatalogSettings
    model: vectors.EncoderModel
    do: Execution
    cache: vectors.ExportCache
    made: dict[str, vectors.Export] = field(default_factory=dict)

    def make(self) -> None:
        """Make both copies now."""
        self.of_tools()
        self.of_requests()

    def of_tools(self) -> vectors.Export:
        """The copy that embeds tools."""
        return self._export("fp32")

    def batches(self) -> vectors.BatchEncoder:
        """The same over many texts."""
        return vectors.BatchEncoder(self.of_tools(), self.settings.vectors.batch_size)

    def of_requests(self) -> vectors.Export:
        """The copy that the router runs."""
        return self._export(self.settings.vectors.precision)

    def _export(self, precision: str) -> vectors.Export:
        if precision not in self.made:
            reference = vectors.ReferenceEncoder(self.model, self.settings.vectors.batch_size)
            export = partial(vectors.export, self.model, precision, reference, self.cache)
            self.made[precision] = self.do("export", export)
        return self.made[precision]
