"""Who may see what: profiles and tokens of a file, and the audit log.

`file` reads the file, `callers` knows who calls by their token, and `audit` writes what each caller was offered, shown
and called.
"""

from quartermaster.serving.profiles.audit import Actions, AuditFailed, AuditLog
from quartermaster.serving.profiles.callers import CALLER, Caller, CallerRefused, Callers
from quartermaster.serving.profiles.file import ProfilesFile, TokenSettings

__all__ = [
    "CALLER",
    "Actions",
    "AuditFailed",
    "AuditLog",
    "Caller",
    "CallerRefused",
    "Callers",
    "ProfilesFile",
    "TokenSettings",
]
