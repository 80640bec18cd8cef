"""What of a tool's own text may be searched. Vendors write it: some of them for the model, not for the reader.

`pipeline.enrichment.quality` says what these checks are worth, and holds what a model writes against more of them:
raise its SCREEN_VERSION, and `router.documents.PROJECTION_VERSION`, with any change here.
"""

from router.tools.trust.sanitization import RemovedText, sanitize

__all__ = ["RemovedText", "sanitize"]
