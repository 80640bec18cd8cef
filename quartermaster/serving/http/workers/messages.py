"""What a worker tells its supervisor, as lines of JSON over a socket that only the two of them have."""

import msgspec

from quartermaster.serving.http.serving_state import ServingState, tellable
from router.errors import EncoderInvalid, QuartermasterError, SettingsInvalid, SnapshotInvalid, SnapshotUntrusted

DRAIN = b"drain\n"
"""The one thing that a supervisor tells a worker: take no new connection, finish those that are open, end."""

_ERRORS = {error.__name__: error for error in (SettingsInvalid, SnapshotInvalid, SnapshotUntrusted, EncoderInvalid)}


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A worker cannot start: the kind of error and its sentence."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: QuartermasterError) -> "Failed":
        """Return what to tell of an error."""
        return cls(type(error).__name__, tellable(str(error)))

    def error(self) -> QuartermasterError:
        """Return the error again, with the exit code that it has."""
        return _ERRORS.get(self.kind, QuartermasterError)(self.message)


class Ending(msgspec.Struct, frozen=True, tag="ending"):
    """A worker takes no new connection any more, and ends once those under way are answered."""


Message = ServingState | Failed | Ending
_DECODER = msgspec.json.Decoder(Message)


def encode_message(message: Message) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"


class MessageReader:
    """Puts lines together from what a socket gives."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, received: bytes) -> list[Message]:
        """Return the messages that are whole now. Raises msgspec.DecodeError for what is none."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [_DECODER.decode(line) for line in lines]
