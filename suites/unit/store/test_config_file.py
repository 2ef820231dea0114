"""JSON tables on disk: how they are saved, what a crash leaves of them, how they are read."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.backends.sim.models import DiskModel
from reference_impl.store import ConfigFile, ConfigUnreadable
from reference_impl.store.config_file import parse_json
from suites.unit.store.world import QUIET_DISK, World

PATH = "store/config/topics.json"
DROP_ALL = DiskModel(writeback_age_ns=None, journal_age_ns=None, power_cut_weights=(("drop-all", 1),))


class Tables:
    """One config file on a disk; forwards what the disk says, as a role does."""

    def __init__(self, *, is_synced: bool = False, model: DiskModel = QUIET_DISK, seed: int = 0) -> None:
        self.world = World(model=model, seed=seed).start()
        self.world.run(1.5)
        self.file = ConfigFile(PATH, metadata_sync=is_synced)
        self.world.store.on_synced = self.on_synced  # type: ignore[method-assign]
        self.world.store.on_disk_error = self.on_disk_error  # type: ignore[method-assign]
        self.saved: list[str] = []

    def on_synced(self, env: Any, file: str, token: Hashable) -> bool:
        return self.file.on_synced(env, file, token) or self.world.store._forcing.on_synced(env, token)

    def on_disk_error(self, env: Any, file: str, token: Hashable, error: str) -> bool:
        return self.file.on_disk_error(env, file, token, error) or self.world.store._forcing.on_disk_error(
            env, token, error
        )

    def save(self, text: str) -> None:
        self.file.save(self.world.env, text, lambda env: self.saved.append(text))

    def load(self) -> Any:
        return ConfigFile(PATH).load(self.world.env, lambda parsed: parsed)

    def put(self, file: str, content: bytes | None) -> None:
        if content is None:
            self.world.disk.delete(file)
        else:
            if self.world.disk.size(file) >= 0:
                self.world.disk.truncate(file, 0)
            self.world.disk.write(file, 0, content)

    def content(self, suffix: str = "") -> bytes | None:
        size = self.world.disk.size(PATH + suffix)
        return self.world.disk.read(PATH + suffix, 0, size) if size >= 0 else None


def test_a_save_keeps_the_old_text_as_bak_and_forces_nothing() -> None:
    t = Tables()
    t.world.syncs.clear()
    for number, bak in ((1, None), (2, b'{"n":1}'), (33, b'{"n":2}'), (4, b'{"n":33}')):
        t.save(f'{{"n":{number}}}')
        assert t.content() == f'{{"n":{number}}}'.encode()
        assert t.content(".bak") == bak
        assert t.content(".tmp") is None
    assert t.load() == {"n": 4}
    assert (len(t.saved), t.world.syncs) == (4, [])


@pytest.mark.parametrize(
    ("main", "bak", "loaded"),
    [
        (b'{"a":1}', b'{"a":0}', {"a": 1}),
        (None, b'{"a":0}', {"a": 0}),
        (b"", b'{"a":0}', {"a": 0}),
        (b'{"a":', b'{"a":0}', {"a": 0}),
        (b"\0\0\0\0", b'{"a":0}', {"a": 0}),
        (None, None, None),
        (b"", b"", None),
        (b"broken", None, None),
        (b"broken", b"", None),
        (b'{"a":1}', b"broken", {"a": 1}),
        (None, b"broken", ConfigUnreadable),
        (b"broken", b"\0\0", ConfigUnreadable),
    ],
)
def test_what_is_loaded(main: bytes | None, bak: bytes | None, loaded: Any) -> None:
    t = Tables()
    t.put(PATH, main)
    t.put(f"{PATH}.bak", bak)
    if loaded is ConfigUnreadable:
        with pytest.raises(ConfigUnreadable) as raised:
            t.load()
        assert raised.value.code == 253
    else:
        assert t.load() == loaded


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"offsetTable":{"T@G":{0:3,1:4}}}', {"offsetTable": {"T@G": {"0": 3, "1": 4}}}),
        ('{"offsetTable":{"T@G":{"0":3,"1":4}}}', {"offsetTable": {"T@G": {"0": 3, "1": 4}}}),
        ('{\n\t"offsetTable":{\n\t\t1 :1\n\t}\n}', {"offsetTable": {"1": 1}}),
        ('{"a":"{1:2}","b\\"3:":[1,-2,3.5],-7:null}', {"a": "{1:2}", 'b"3:': [1, -2, 3.5], "-7": None}),
        ("[]", []),
    ],
)
def test_integer_keys_may_come_without_quotes(text: str, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize("text", ["", "{", "{a:1}", "{1.5:1}", "\0"])
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_every_json_text_reads_as_itself(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False, indent="\t")) == value


def test_a_power_cut_takes_a_table_that_was_saved_long_ago() -> None:
    t = Tables(model=DROP_ALL)
    t.save('{"topic":1}')
    t.world.run(20)
    t.world.cut_power()
    t.world.start()
    assert t.load() is None


def test_metadata_sync_keeps_it() -> None:
    t = Tables(is_synced=True, model=DROP_ALL)
    t.save('{"topic":1}')
    assert t.saved == []
    t.world.run(0.1)
    assert t.saved == ['{"topic":1}']
    t.world.cut_power()
    t.world.start()
    assert t.load() == {"topic": 1}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0, 100_000, 1_000_000, 10_000_000]), min_size=1, max_size=12), st.integers(0, 2**20))
def test_metadata_sync_never_loses_what_was_reported_as_saved(pauses_ns: list[int], seed: int) -> None:
    t = Tables(is_synced=True, seed=seed)
    for number, pause_ns in enumerate(pauses_ns):
        t.save(f'{{"number":{number}}}')
        t.world.run(ns=pause_ns)
    last_saved = parse_json(t.saved[-1])["number"] if t.saved else -1
    assert [parse_json(text)["number"] for text in t.saved] == sorted(parse_json(text)["number"] for text in t.saved)
    t.world.cut_power()
    t.world.start()
    table = t.load()
    assert (table["number"] if table else -1) >= last_saved


def test_saves_that_come_during_one_are_merged_and_all_are_told() -> None:
    t = Tables(is_synced=True)
    t.world.syncs.clear()
    for number in range(5):
        t.save(str(number))
    t.world.run(0.1)
    assert t.saved == ["0", "1", "2", "3", "4"]
    assert t.content() == b"4"
    assert t.world.syncs.count(f"{PATH}.tmp") == 2


@pytest.mark.parametrize("nth", [1, 2])
def test_a_save_that_could_not_be_forced_is_not_reported_and_the_next_one_may_be(nth: int) -> None:
    t = Tables(is_synced=True)
    t.world.faults().sync_failures = [nth]
    t.save("1")
    t.world.run(0.1)
    assert t.saved == []
    assert t.world.noted("config_not_saved")
    t.save("2")
    t.world.run(0.1)
    assert (t.saved, t.load()) == (["2"], 2)


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_disk_that_cannot_be_written_loses_nothing_that_was_there(is_synced: bool) -> None:
    t = Tables(is_synced=is_synced)
    t.save("1")
    t.world.run(0.1)
    t.world.faults().read_only = True
    t.save("2")
    t.world.run(0.1)
    assert (t.saved, t.load()) == (["1"], 1)
    assert t.world.noted("config_not_saved")
