"""The store's settings: RocketMQ's names and defaults, bound once, then plain typed values.

Question: what does this broker's configuration mean for its store?

Model. ``StoreConfig.from_properties`` takes the broker's whole property map (text to text) and picks the names it knows
(RocketMQ: MessageStoreConfig, BrokerConfig); other names belong to other parts of the broker and are left alone. Field
names are RocketMQ's in snake case, times stay in milliseconds as RocketMQ states them.

Own additions:
    metadataSync=false             true: JSON files (topics, offsets) are forced to the disk before they count as saved
    strictFlush=false              true: a failed force never ends in SEND_OK, and makes the store read-only
    countRecoveredAsFlushed=false  true: as RocketMQ, see ``recovery.py``
    cleanTruncatedTail=false       true: bytes behind a truncated tail are zeroed, RocketMQ leaves them
    strictSysFlag=false            true: a message whose sysFlag has a bit of the broker's own is refused (accepting)
    queueSelfCheck=false           true: a start compares every queue with the log, and builds anew what differs
    totalPhysicalMemorySize        stands in for the machine's RAM in the "in memory" rule of reads
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_args

import msgspec

from reference_impl.wire.fields import java_number

FlushDiskType = Literal["ASYNC_FLUSH", "SYNC_FLUSH"]
BrokerRole = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]

DELAY_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


class StoreConfig(msgspec.Struct, frozen=True, kw_only=True):
    """RocketMQ: MessageStoreConfig. Sizes in bytes, times in milliseconds unless the name says otherwise."""

    broker_cluster_name: str = "DefaultCluster"
    store_host: str = "127.0.0.1:10911"
    store_path_root_dir: str = "store"
    store_path_commit_log: str = ""
    """Folders between commas; the log's files go round them. Empty: ``commitlog`` below the root."""
    read_only_commit_log_store_paths: str = ""
    """Folders between commas whose files are read, but where no new ones are made; of a log in several folders only."""
    broker_role: BrokerRole = "ASYNC_MASTER"
    flush_disk_type: FlushDiskType = "ASYNC_FLUSH"

    mapped_file_size_commit_log: int = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: int = 300_000 * 20
    max_message_size: int = 4 * 1024 * 1024
    message_delay_level: str = DELAY_LEVELS

    flush_interval_commit_log: int = 500
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_interval: int = 10_000
    flush_interval_consume_queue: int = 1000
    flush_consume_queue_least_pages: int = 2
    flush_consume_queue_thorough_interval: int = 60_000
    transient_store_pool_enable: bool = False
    transient_store_pool_size: int = 5
    commit_commit_log_least_pages: int = 4
    commit_commit_log_thorough_interval: int = 200
    sync_flush_timeout: int = 5000
    slave_timeout: int = 3000

    check_crc_on_recover: bool = True
    message_index_enable: bool = True
    message_index_safe: bool = False
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    max_msgs_num_batch: int = 64

    access_message_in_memory_max_ratio: int = 40
    total_physical_memory_size: int = 24 * 1024 * 1024 * 1024
    max_transfer_bytes_on_message_in_memory: int = 256 * 1024
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_disk: int = 64 * 1024
    max_transfer_count_on_message_in_disk: int = 8
    offset_check_in_slave: bool = False

    file_reserved_time_hours: int = 72
    delete_when: str = "04"
    disk_max_used_space_ratio: int = 75
    disk_space_clean_forcibly_ratio: int = 85
    disk_space_warning_level_ratio: int = 90
    clean_file_forcibly_enable: bool = True
    clean_resource_interval: int = 10_000
    delete_commit_log_files_interval: int = 100

    metadata_sync: bool = False
    strict_flush: bool = False
    count_recovered_as_flushed: bool = False
    clean_truncated_tail: bool = False
    strict_sys_flag: bool = False
    queue_self_check: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> StoreConfig:
        """Bind RocketMQ property names; ``ValueError`` names the property, the value and what was expected."""
        _refuse_unsupported(properties)
        values: dict[str, Any] = {}
        for field in _fields(cls):
            name = _PROPERTY.get(field.name) or _camel(field.name)
            if name in properties:
                values[field.name] = _bind(name, properties[name].strip(), field.type)
        if "store_host" not in values and "brokerIP1" in properties:
            values["store_host"] = f"{properties['brokerIP1']}:{properties.get('listenPort', '10911')}"
        return _checked(cls(**values))

    @property
    def commit_log_folders(self) -> tuple[str, ...]:
        """Where the log's files lie: they go round the folders (RocketMQ: MultiPathMappedFileQueue)."""
        return tuple((self.store_path_commit_log or f"{self.store_path_root_dir}/commitlog").split(","))

    @property
    def read_only_folders(self) -> tuple[str, ...]:
        """Folders of the log that take no new files. A log in one folder knows none (RocketMQ: CommitLog)."""
        is_split = len(self.commit_log_folders) > 1
        return _folders(self.read_only_commit_log_store_paths) if is_split else ()

    @property
    def write_buffers(self) -> int:
        """How many buffers the log's files may use (RocketMQ: MessageStoreConfig#isTransientStorePoolEnable)."""
        is_used = self.flush_disk_type == "ASYNC_FLUSH" and self.broker_role != "SLAVE"
        return self.transient_store_pool_size if self.transient_store_pool_enable and is_used else 0

    @classmethod
    def property_names(cls) -> list[str]:
        """RocketMQ's names of all fields: what a store obeys."""
        return [_PROPERTY.get(name) or _camel(name) for name in cls.__struct_fields__]


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Evaluating annotations takes longer than all of the rest."""
    return msgspec.structs.fields(kind)


def _refuse_unsupported(properties: Mapping[str, str]) -> None:
    """What would silently change where messages lie must not be ignored."""
    _relative("storePathRootDir", properties.get("storePathRootDir", "store"))
    folders = properties["storePathCommitLog"].split(",") if "storePathCommitLog" in properties else []
    for folder in folders:
        _relative("storePathCommitLog", folder)
    read_only = _folders(properties.get("readOnlyCommitLogStorePaths", ""))
    for folder in read_only:
        _relative("readOnlyCommitLogStorePaths", folder)
    if len(folders) > 1 and not set(folders) - set(read_only):
        raise ValueError("readOnlyCommitLogStorePaths: no folder of storePathCommitLog is left to write to")
    root = properties.get("storePathRootDir", "store").rstrip("/")
    for name, folder in (("storePathConsumeQueue", "consumequeue"), ("storePathIndex", "index")):
        if properties.get(name, f"{root}/{folder}").rstrip("/") != f"{root}/{folder}":
            raise ValueError(f"{name}: RocketMQ does not read it, and uses {root}/{folder}")
    if len(set(folders)) < len(folders):
        raise ValueError(f"storePathCommitLog: a folder stands there twice: {properties['storePathCommitLog']!r}")


_UNIT_BYTES: Final = 20
_FILE_BYTES_MAX: Final = (1 << 31) - 1
_BOUNDS: Final = {
    "mapped_file_size_commit_log": (256, _FILE_BYTES_MAX),
    "mapped_file_size_consume_queue": (1, _FILE_BYTES_MAX),
    "max_message_size": (1, _FILE_BYTES_MAX),
    "max_hash_slot_num": (1, _FILE_BYTES_MAX // 4),
    "max_index_num": (2, _FILE_BYTES_MAX // 20),
    "transient_store_pool_size": (1, 1024),
    "max_transfer_count_on_message_in_memory": (1, _FILE_BYTES_MAX),
    "max_transfer_count_on_message_in_disk": (1, _FILE_BYTES_MAX),
    "file_reserved_time_hours": (0, 1_000_000),
}
"""Field → least and greatest value; of times 1 ms and a year, of ratios 0 and 100 per cent."""

_YEAR_MS: Final = 366 * 86_400_000


def _checked(config: StoreConfig) -> StoreConfig:
    """What a file, a timer or a division relies on. ``ValueError`` names the property."""
    for field in config.__struct_fields__:
        value = getattr(config, field)
        least, most = _BOUNDS.get(field) or _bounds_by_name(field)
        if type(value) is int and not least <= value <= most:
            raise ValueError(f"{_PROPERTY.get(field) or _camel(field)}={value}: expected {least} to {most}")
    for hour in config.delete_when.split(";"):
        if hour.strip() and java_number(hour.strip(), 32) not in range(24):
            raise ValueError(f"deleteWhen={config.delete_when}: expected hours from 00 to 23 between semicolons")
    units = -(-config.mapped_file_size_consume_queue // _UNIT_BYTES)  # rounded up, as RocketMQ does
    return msgspec.structs.replace(config, mapped_file_size_consume_queue=units * _UNIT_BYTES)


def _bounds_by_name(field: str) -> tuple[int, int]:
    if field.endswith(("_interval", "_timeout")):
        return 1, _YEAR_MS
    return (0, 100) if field.endswith("_ratio") else (0, 1 << 62)


def _folders(text: str) -> tuple[str, ...]:
    return tuple(path for path in text.split(",") if path.strip())


def _relative(name: str, path: str) -> None:
    if path != path.strip() or not path.strip("/") or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{name}: expected a path relative to the node's folder, not {path!r}")


_PROPERTY: Final = {
    "file_reserved_time_hours": "fileReservedTime",
    "check_crc_on_recover": "checkCRCOnRecover",
    "store_host": "storeHost",
}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _bind(name: str, text: str, kind: object) -> str | int | bool:
    """One property value as the type of its field."""
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name}: expected true or false, not {text!r}")
        return text.lower() == "true"
    if kind is int:
        number = java_number(text, 64)
        if number is None:
            raise ValueError(f"{name}: expected a whole number, not {text!r}")
        return number
    choices = get_args(kind)
    if choices and text not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, not {text!r}")
    return text
