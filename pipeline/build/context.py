"""What all stages of a build share."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.execution import Execution
from pipeline.ledger import Ledger
from pipeline.ledger.source_readings import SourceReadings
from pipeline.progress import StageClock
from pipeline.publish import serving_folder
from pipeline.scratch import ScratchFolder
from pipeline.settings import CatalogSettings
from pipeline.store import WritableStore
from router.signing.ed25519 import Signer


@dataclass(frozen=True)
class BuildContext:
    """One build: its settings, where it reads and writes, `run` of the ledger, and who carries out and times stages.

    `scratch` holds what need not outlive the build. `area` is as in the runs of the ledger. `signer` signs the
    snapshot; None signs none.
    """

    settings: CatalogSettings
    workspace: Path
    store: WritableStore
    ledger: Ledger
    run: int
    execution: Execution
    clock: StageClock
    scratch: ScratchFolder
    area: str = "snapshots"
    signer: Signer | None = None

    @property
    def serving(self) -> Path | None:
        """Return the folder of the snapshot that serves; None where none does."""
        return serving_folder(self.store)

    @property
    def last_readings(self) -> SourceReadings:
        """Return what the catalog's sources gave last, as the ledger has it."""
        return self.ledger.source_readings(self.settings.name, self.area, self.serving, self.clock.note)
