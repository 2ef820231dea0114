"""The store's settings: RocketMQ's names, and one clear error for what cannot be used."""

from __future__ import annotations

import pytest

from reference_impl.store import MessageStore, StoreConfig
from reference_impl.store.delay import DelayLevels


def test_defaults_are_rocketmqs() -> None:
    config = StoreConfig.from_properties({"unknown": "to the store", "brokerName": "a"})
    assert config == StoreConfig()
    assert (config.mapped_file_size_commit_log, config.mapped_file_size_consume_queue) == (1 << 30, 6_000_000)
    assert (config.flush_interval_commit_log, config.flush_commit_log_least_pages) == (500, 4)
    assert (config.max_hash_slot_num, config.max_index_num) == (5_000_000, 20_000_000)
    assert config.file_reserved_time_hours == 72


@pytest.mark.parametrize(
    ("properties", "field", "value"),
    [
        ({"flushDiskType": "SYNC_FLUSH"}, "flush_disk_type", "SYNC_FLUSH"),
        ({"checkCRCOnRecover": "false"}, "check_crc_on_recover", False),
        ({"fileReservedTime": " 48 "}, "file_reserved_time_hours", 48),
        ({"maxMsgsNumBatch": "3"}, "max_msgs_num_batch", 3),
        ({"brokerIP1": "10.1.2.3"}, "store_host", "10.1.2.3:10911"),
        ({"brokerIP1": "10.1.2.3", "listenPort": "20911"}, "store_host", "10.1.2.3:20911"),
        ({"transientStorePoolEnable": "false"}, "store_path_root_dir", "store"),
    ],
)
def test_a_property_by_its_rocketmq_name(properties: dict[str, str], field: str, value: object) -> None:
    assert getattr(StoreConfig.from_properties(properties), field) == value


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("flushDiskType", "ASYNC", "expected one of ASYNC_FLUSH, SYNC_FLUSH"),
        ("brokerRole", "MASTER", "expected one of ASYNC_MASTER, SYNC_MASTER, SLAVE"),
        ("mappedFileSizeCommitLog", "1G", "expected a whole number"),
        ("strictFlush", "yes", "expected true or false"),
        ("storePathCommitLog", "store/log,/data", "relative"),
        ("storePathCommitLog", "store/log,", "relative"),
        ("storePathCommitLog", "a,b,a", "twice"),
        ("readOnlyCommitLogStorePaths", "/data", "relative"),
        ("storePathIndex", "elsewhere/index", "RocketMQ does not read it, and uses store/index"),
        ("storePathRootDir", "/var/store", "relative"),
        ("storePathRootDir", "../store", "relative"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: .*{complaint}"):
        StoreConfig.from_properties({name: text})


@pytest.mark.parametrize(
    ("folders", "read_only", "expected"),
    [
        ("a,b", "a", ("a",)),
        ("a,b", "old,,a,", ("old", "a")),
        ("a", "old", ()),
        ("a", "a", ()),  # and so it is written to all the same
        ("", "store/commitlog", ()),
    ],
)
def test_read_only_folders_are_of_a_log_in_several(folders: str, read_only: str, expected: tuple[str, ...]) -> None:
    given = {"storePathCommitLog": folders} if folders else {}
    config = StoreConfig.from_properties(given | {"readOnlyCommitLogStorePaths": read_only})
    assert config.read_only_folders == expected


def test_one_folder_must_take_new_files() -> None:
    with pytest.raises(ValueError, match="readOnlyCommitLogStorePaths: no folder"):
        StoreConfig.from_properties({"storePathCommitLog": "a,b", "readOnlyCommitLogStorePaths": "b,a"})


@pytest.mark.parametrize("text", ["", "10", "5x", "s", "1s five"])
def test_delay_levels_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="messageDelayLevel"):
        MessageStore(StoreConfig(message_delay_level=text))


def test_delay_levels() -> None:
    levels = DelayLevels("1s 2m 3h 4d")
    assert [levels.delay_ms(level) for level in (1, 2, 3, 4)] == [1000, 120_000, 10_800_000, 345_600_000]
    assert (levels.clamp(9), levels.due_ms(9, 7)) == (4, 345_600_007)
