"""A snapshot in memory: a program's tools, indexed where it runs. No workspace, no build, no file.

`snapshot` makes it of records, `encoders` opens the chosen encoder, and `screening` drops the texts that a build drops.
"""

from router.snapshot.memory.encoders import EncoderChoice, open_encoder
from router.snapshot.memory.snapshot import snapshot_from_records

__all__ = ["EncoderChoice", "open_encoder", "snapshot_from_records"]
