"""Decompress a gzip body piece by piece, and tell whether it is whole."""

import zlib

from urllib3.exceptions import DecodeError

_GZIP = 16 + zlib.MAX_WBITS


class Gunzip:
    """Decompresses the members of a gzip stream, one after the other."""

    def __init__(self, max_bytes: int) -> None:
        """One call of `feed` returns little more than `max_bytes`, however much the bytes hold."""
        self._max_bytes = max_bytes
        self._member = zlib.decompressobj(_GZIP)

    @property
    def complete(self) -> bool:
        """Return whether the stream has ended where a member ends."""
        return self._member.eof

    def feed(self, packed: bytes) -> bytes:
        """Return what the next bytes hold. Raises DecodeError where they are no gzip."""
        unpacked = bytearray()
        while packed and len(unpacked) <= self._max_bytes:
            if self._member.eof:
                packed = packed.lstrip(b"\0")  # padding, as tapes have it
                if not packed:
                    break
                self._member = zlib.decompressobj(_GZIP)
            try:
                unpacked += self._member.decompress(packed, self._max_bytes + 1)
            except zlib.error as error:
                raise DecodeError("the body is no gzip") from error
            packed = self._member.unused_data
        return bytes(unpacked)
