"""Who may see what: profiles and tokens of a file, and the audit log.

`file` reads the file, `callers` knows who calls by their token, `tokens` makes and compares tokens, `audit` writes what
each caller was offered, shown and allowed to call.
"""

from router.serving.profiles.audit import Actions, AuditFailed, AuditLog
from router.serving.profiles.callers import CALLER, Caller, CallerRefused, Callers
from router.serving.profiles.file import ProfilesFile, TokenSettings
from router.serving.profiles.tokens import new_token, token_digest

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
    "new_token",
    "token_digest",
]
