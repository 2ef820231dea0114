"""Bytes of a file of which most were never written.

Question: how can a broker preallocate a 1 GB commit log file a thousand times an hour without 1 GB of memory?

Model. A file is a size and a dictionary from chunk number to 16 KiB of bytes. A missing chunk reads as zeros. Chunks
are made when first written, so memory follows what was written, and an append costs one slice assignment.

Limits. Space is counted in whole chunks. Reading allocates what it returns, holes included.
"""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 16 * 1024
_EMPTY = bytes(CHUNK)


class Sparse:
    """Content of one file in one of its two places (page cache, platter)."""

    __slots__ = ("chunks", "size")

    def __init__(self) -> None:
        self.size = 0
        self.chunks: dict[int, bytearray] = {}

    def read(self, offset: int, size: int) -> bytes:
        """Up to *size* bytes from *offset*; shorter at the end of the file."""
        size = min(size, self.size - offset)
        if size <= 0:
            return b""
        number, start = divmod(offset, CHUNK)
        if start + size <= CHUNK:
            chunk = self.chunks.get(number)
            return bytes(size) if chunk is None else bytes(memoryview(chunk)[start : start + size])
        result = bytearray(size)
        for number, start, at, length in _pieces(offset, size):
            chunk = self.chunks.get(number)
            if chunk is not None:
                result[at : at + length] = memoryview(chunk)[start : start + length]
        return bytes(result)

    def write(self, offset: int, data: bytes) -> int:
        """Put *data* at *offset*, extending the file; returns how many chunks were made for it."""
        size = len(data)
        if offset + size > self.size:
            self.size = offset + size
        number, start = divmod(offset, CHUNK)
        if start + size <= CHUNK:
            chunk = self.chunks.get(number)
            if chunk is None:
                if not size:
                    return 0
                chunk = self.chunks[number] = bytearray(CHUNK)
                chunk[start : start + size] = data
                return 1
            chunk[start : start + size] = data
            return 0
        return self._write_pieces(offset, data)

    def _write_pieces(self, offset: int, data: bytes) -> int:
        made = 0
        view = memoryview(data)
        for number, start, at, length in _pieces(offset, len(data)):
            chunk = self.chunks.get(number)
            if chunk is None:
                chunk = self.chunks[number] = bytearray(CHUNK)
                made += 1
            chunk[start : start + length] = view[at : at + length]
        return made

    def missing(self, offset: int, size: int) -> int:
        """How many chunks a write there would have to make."""
        return sum(1 for number, _, _, _ in _pieces(offset, size) if number not in self.chunks)

    def resize(self, size: int) -> int:
        """Truncate or extend with zeros; returns how many chunks were given back."""
        freed = 0
        if size < self.size:
            keep, start = divmod(size, CHUNK)
            for number in [number for number in self.chunks if number > keep or (number == keep and not start)]:
                del self.chunks[number]
                freed += 1
            if keep in self.chunks:
                self.chunks[keep][start:] = _EMPTY[start:]
        self.size = size
        return freed

    def copy(self) -> Sparse:
        """An independent copy."""
        twin = Sparse()
        twin.size = self.size
        twin.chunks = {number: bytearray(chunk) for number, chunk in self.chunks.items()}
        return twin

    def extents(self) -> Iterator[tuple[int, bytes]]:
        """(offset, bytes) of every chunk that holds more than zeros, ascending, up to the end of the file."""
        for number in sorted(self.chunks):
            chunk = self.chunks[number]
            if chunk != _EMPTY:
                yield number * CHUNK, bytes(chunk[: self.size - number * CHUNK])


def _pieces(offset: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    """Split a range at chunk borders: (chunk number, start in the chunk, start in the range, length)."""
    at = 0
    while at < size:
        number, start = divmod(offset + at, CHUNK)
        length = min(CHUNK - start, size - at)
        yield number, start, at, length
        at += length
