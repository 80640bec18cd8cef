"""How the ledger is backed up."""

from pydantic import Field

from pipeline.settings.base import Section


class LedgerSettings(Section):
    """The backups of the ledger that builds make, in the folder `backups` of the workspace."""

    backups: int = Field(2, ge=0)
    """How many backups stay; 0: none is made. A build makes one when it ends, if anything was stored since the last;
    after one that was killed, the next does when it begins."""
    max_backup_mb: int = Field(10_000, ge=1)
    """A larger ledger is not copied, and the build says so."""
