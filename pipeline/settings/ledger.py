"""How the ledger is copied while builds write it."""

from pydantic import Field

from pipeline.settings.base import Section


class LedgerSettings(Section):
    """The automatic copies of the ledger, in the folder `backups` of the workspace."""

    backups: int = Field(2, ge=0)
    """How many copies stay; 0: none is made. Each build makes one before it asks anything, if something was stored
    since the last."""
    max_backup_mb: int = Field(2000, ge=1)
    """A larger ledger is not copied, and the build says so."""
    backup_minutes: float = Field(5.0, ge=0)
    """Minutes after which a running build copies the ledger again, if it stored answers or vectors; 0: never. Copying
    takes at most a twentieth of a build's time."""
