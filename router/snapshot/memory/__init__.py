"""A router in memory: a program's tools, indexed where it runs. No workspace, no build, no file."""

from router.snapshot.memory.encoders import EncoderChoice, open_encoder
from router.snapshot.memory.phrases import phrases_by_id
from router.snapshot.memory.snapshot import snapshot_from_records

__all__ = ["EncoderChoice", "open_encoder", "phrases_by_id", "snapshot_from_records"]
