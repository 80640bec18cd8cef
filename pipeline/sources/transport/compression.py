"""Decompress a gzip body piece by piece, and tell whether it is whole."""

import zlib

from urllib3.exceptions import DecodeError

_GZIP = 16 + zlib.MAX_WBITS


class Gunzip:
    """Decompresses the members of a gzip stream, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._ended = False  # at least one member is whole

    @property
    def complete(self) -> bool:
        """Return whether the stream has ended where a member ends."""
        return self._member.eof

    def feed(self, packed: bytes) -> bytes:
        """Return what the next bytes hold. Raises DecodeError where they are no gzip.

        What follows the last member and is no gzip is ignored, as other readers do.
        """
        unpacked = bytearray()
        while packed:
            member = self._member
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            try:
                unpacked += member.decompress(packed)
            except zlib.error as error:
                if self._ended and self._member.eof:
                    break
                raise DecodeError("the body is no gzip") from error
            self._member, packed = member, member.unused_data
            self._ended = self._ended or member.eof
        return bytes(unpacked)
