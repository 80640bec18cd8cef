"""What all stages of a build share."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import SettingsInvalid
from pipeline.execution import Execution
from pipeline.ledger import Ledger
from pipeline.ledger.source_readings import SourceReadings
from pipeline.progress import Progress, StageClock
from pipeline.publish import serving_folder
from pipeline.scratch import ScratchFolder
from pipeline.settings import CatalogSettings
from pipeline.store import SharedStore, SnapshotStore, WritableStore
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


SERVING_AREA = "snapshots"


def store_of(settings: CatalogSettings, workspace: Path, area: str, progress: Progress) -> WritableStore:
    """Return the store of a catalog. An experiment in another area never leaves the workspace.

    Raises SettingsInvalid where the bucket cannot be used as the settings say.
    """
    folder = SnapshotStore(workspace, settings.name, area)
    to = settings.publish.to
    if to is None or area != SERVING_AREA:
        return folder
    from pipeline.store.bucket.store import BucketStore

    store = BucketStore(to, folder.folder, grace=settings.publish.grace, progress=progress)
    if settings.publish.sign_key is not None and store.catalog != settings.name:
        raise SettingsInvalid(
            f"publish.to: {to} must end with /{settings.name}, the catalog's name: routers that check signatures take "
            "the name from the address"
        )
    return store


def begin(store: WritableStore, *, writes: bool = True) -> None:
    """Note what serves when a build begins, in a store that other builds may write to. Raises StoreUnavailable."""
    if isinstance(store, SharedStore):
        store.begin_build(writes=writes)
