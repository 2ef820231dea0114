"""What real DLedger brokers sent and stored is read here, and written again byte for byte."""

from __future__ import annotations

import pytest

from reference_impl.dledger.codes import RpcCode
from reference_impl.dledger.entry import decode_record, encode_blank, encode_record, encode_unit, record_head
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.messages import ANSWERS, REQUESTS, PushRequest, decode, encode, push
from reference_impl.dledger.recovery import recover
from reference_impl.dledger.small_files import (
    CHECKPOINT_FILE,
    TERM_FILE,
    checkpoint_text,
    read_checkpoint,
    read_term,
    term_text,
)
from reference_impl.store.forcing import Forcing
from reference_impl.wire.frame import decode_frame, encode_frame
from suites.conformance.golden_dledger import (
    CAPTURES,
    DATA_FILE_SIZE,
    FOLDERS,
    INDEX_FILE_SIZE,
    folder_files,
    frames,
    listing,
)
from suites.fake_environment import FakeEnvironment

SERVED = frozenset(RpcCode) - {RpcCode.PULL}
FRAMES = [frame for capture in CAPTURES for frame in frames(capture) if frame.code in SERVED]


@pytest.mark.conformance("D01")
def test_the_captures_hold_every_kind_of_frame() -> None:
    written = {(frame.code, frame.is_answer) for frame in FRAMES if frame.sender is not None}
    assert {code for code, is_answer in written if is_answer} == set(SERVED)
    assert {code for code, is_answer in written if not is_answer} == set(SERVED) - {50000, 50001, 50002}
    assert len(FRAMES) > 600


@pytest.mark.conformance("D01")
def test_frames_of_real_members_encode_to_the_same_bytes() -> None:
    for frame in FRAMES:
        command = decode_frame(frame.data)
        if not command.body:
            continue
        kind = (ANSWERS if frame.is_answer else REQUESTS)[frame.code]
        message = decode(kind, command.body)
        if frame.sender is not None:
            assert encode(message) == command.body, frame.name
            assert encode_frame(command) == frame.data, frame.name


@pytest.mark.conformance("D01")
def test_the_getters_of_a_push_are_computed_as_java_does() -> None:
    pushes = [decode_frame(it.data) for it in FRAMES if it.code == RpcCode.PUSH and not it.is_answer and it.sender]
    assert len(pushes) > 100
    for command in pushes:
        seen = decode(PushRequest, command.body)
        members = {"commit_index": seen.commit_index, "group": seen.group, "leader_id": seen.leader_id}
        ids = {"local_id": seen.local_id, "remote_id": seen.remote_id, "term": seen.term}
        again = push(seen.type, seen.entries, is_batch=seen.batch, **members, **ids)
        assert encode(again) == command.body


@pytest.mark.conformance("D02")
@pytest.mark.parametrize("folder", FOLDERS)
def test_small_files_are_written_the_same(folder: str) -> None:
    files = folder_files(folder)
    for name in (TERM_FILE, f"{TERM_FILE}.bak"):
        assert term_text(*read_term(files[name].decode())).encode() == files[name]
    for name in (CHECKPOINT_FILE, f"{CHECKPOINT_FILE}.bak"):
        committed = read_checkpoint(files[name].decode())
        end = int(files[name].decode().split("endIndex=")[1])
        assert checkpoint_text(end, committed).encode() == files[name]


@pytest.mark.conformance("D03")
@pytest.mark.parametrize("folder", FOLDERS)
def test_records_units_and_blanks_are_written_the_same(folder: str) -> None:
    files, known = folder_files(folder), listing(folder)
    data = b"".join(files[name] for name in sorted(files) if name.startswith("data/"))
    units = b"".join(files[name] for name in sorted(files) if name.startswith("index/"))
    at = 0
    for line in known:
        if record_head(data, at)[0] == -1:
            left = DATA_FILE_SIZE - at % DATA_FILE_SIZE
            assert data[at : at + 8] == encode_blank(left)
            at += left
        entry = decode_record(data, at)
        assert entry is not None
        assert (entry.index, entry.term, entry.pos, entry.size) == tuple(
            line[key] for key in ("index", "term", "pos", "size")
        )
        assert encode_record(entry) == data[at : at + entry.size]
        assert encode_unit(entry) == units[entry.index * 32 : entry.index * 32 + 32]
        at += entry.size


@pytest.mark.conformance("D04")
@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_open_with_every_entry(folder: str) -> None:
    env = FakeEnvironment()
    env.disk = {f"d/{name}": bytearray(data) for name, data in folder_files(folder).items()}
    log = FileLog("d", Forcing(), data_file_size=DATA_FILE_SIZE, index_file_size=INDEX_FILE_SIZE)
    recovered = recover(env, log)
    known = listing(folder)
    assert (recovered.begin_index, recovered.end_index) == (0, known[-1]["index"])
    assert recovered.end_term == known[-1]["term"]
    for line in known:
        entry = log.entry(line["index"])
        assert entry is not None
        assert (entry.pos, entry.size, entry.term) == (line["pos"], line["size"], line["term"])


@pytest.mark.conformance("D05")
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.endswith(("1_before/leader", "new_leader"))])
def test_the_same_entries_make_the_same_files(folder: str) -> None:
    files, env = folder_files(folder), FakeEnvironment()
    log = FileLog("d", Forcing(), data_file_size=DATA_FILE_SIZE, index_file_size=INDEX_FILE_SIZE)
    recover(env, log)
    data = b"".join(files[name] for name in sorted(files) if name.startswith("data/"))
    for line in listing(folder):
        entry = decode_record(data, line["pos"])
        assert entry is not None
        assert log.place(entry.size) == entry.pos
        log.append(entry)
    written = {name.removeprefix("d/"): bytes(content) for name, content in env.disk.items()}
    assert written == {name: content for name, content in files.items() if "/" in name}
