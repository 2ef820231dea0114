"""Paths and URIs: one way to list, read, write and remove, on a disk or in an object store.

Question: where is ``lake``, ``file:///data/lake`` or ``s3://bucket/lake``, and how is a file replaced there so that no
reader ever sees half of it?

Model. A :class:`Place` is a folder on a file system of pyarrow. A file is written under a temporary name and renamed on
file systems that rename in one step (a disk, HDFS); an object store shows an object only when it is complete.

Limits. One process at a time may change a lake. On a disk a lock file refuses the second; an object store has no lock,
there it is for its users to see to.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from harness.errors import UsageError

ROW_GROUP = 128 * 1024


@dataclass(frozen=True)
class Place:
    """A folder: *system* and the path in it; *uri* is what Spark and other engines are told."""

    system: Any
    path: str
    uri: str

    @staticmethod
    def of(text: str | Path) -> Place:
        """A path of this machine, or a URI with its scheme."""
        if "://" not in str(text):
            path = str(Path(text).absolute())
            return Place(fs.LocalFileSystem(), path, f"file://{path}")
        try:
            system, path = fs.FileSystem.from_uri(str(text))
        except (pa.ArrowException, OSError) as error:
            raise UsageError(f"{text} cannot be opened: {error}", hint="file://, s3://, gs://, hdfs://") from error
        return Place(system, path, str(text).rstrip("/"))

    @property
    def is_local(self) -> bool:
        return isinstance(self.system, fs.LocalFileSystem)

    def below(self, relative: str) -> str:
        return f"{self.path}/{relative}"

    def files(self, folder: str = "", suffix: str = "") -> list[str]:
        """Relative paths of all files below *folder*, sorted; none if it is not there."""
        chosen = fs.FileSelector(self.below(folder).rstrip("/"), recursive=True, allow_not_found=True)
        found = (info.path for info in self.system.get_file_info(chosen) if info.type == fs.FileType.File)
        return sorted(path[len(self.path) + 1 :] for path in found if path.endswith(suffix))

    def size(self, relative: str) -> int:
        """In bytes; −1 if there is no such file."""
        info = self.system.get_file_info(self.below(relative))
        return int(info.size) if info.type == fs.FileType.File else -1

    def remove(self, relative: str) -> None:
        """Nothing happens if it is not there."""
        if self.size(relative) >= 0:
            self.system.delete_file(self.below(relative))

    def read_json(self, relative: str) -> Any:
        with self.system.open_input_stream(self.below(relative)) as stream:
            return json.loads(stream.read())

    def write_json(self, relative: str, value: Any) -> None:
        with self._replacing(relative) as stream:
            stream.write(json.dumps(value, indent=1, sort_keys=True).encode())

    def read_table(self, relative: str, columns: list[str] | None = None, *, is_checked: bool = False) -> pa.Table:
        """One Parquet file. *is_checked* compares the checksum of every page."""
        with self.system.open_input_file(self.below(relative)) as stream:
            return pq.ParquetFile(stream, page_checksum_verification=is_checked).read(columns=columns)

    def row_count(self, relative: str) -> int:
        with self.system.open_input_file(self.below(relative)) as stream:
            return int(pq.ParquetFile(stream).metadata.num_rows)

    @contextmanager
    def table_writer(self, relative: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
        """Tables of *schema* one after the other into one file, which is there when all of them are."""
        options = {"compression": "zstd", "write_page_checksum": True}
        with self._replacing(relative) as stream, pq.ParquetWriter(stream, schema, **options) as writer:
            yield writer

    @contextmanager
    def _replacing(self, relative: str) -> Iterator[Any]:
        final = self.below(relative)
        self.system.create_dir(final.rpartition("/")[0], recursive=True)
        target = f"{final}.tmp" if self._renames else final
        with self.system.open_output_stream(target) as stream:
            yield stream
        if self._renames:
            self.system.move(target, final)

    @property
    def _renames(self) -> bool:
        return self.is_local or isinstance(self.system, fs.HadoopFileSystem)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """This process may change the place; ``UsageError`` if another one is at it."""
        if not self.is_local:
            yield
            return
        os.makedirs(self.path, exist_ok=True)
        with open(self.below("_lock"), "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process is changing the lake {self.path}", hint="wait for it") from None
            yield
