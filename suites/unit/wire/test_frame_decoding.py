"""What a peer may send and still be understood, and what closes its connection."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.frame import (
    BINARY,
    FRAME_BYTES_MAX,
    JSON,
    NO_FIELDS,
    Command,
    FrameDecoder,
    LocalWireError,
    RemoteWireError,
    decode_frame,
    encode_frame,
)


def framed(header: bytes, body: bytes = b"", serialization: int = JSON) -> bytes:
    """A frame around a header that we would not write."""
    total = 4 + len(header) + len(body)
    return total.to_bytes(4, "big") + (serialization << 24 | len(header)).to_bytes(4, "big") + header + body


def json_frame(**members: object) -> bytes:
    return framed(json.dumps(members).encode())


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"code": 10}, Command(10, language="JAVA", version=0)),
        ({"code": "10", "opaque": "7"}, Command(10, opaque=7, language="JAVA", version=0)),
        ({"code": 10, "language": 3}, Command(10, language="PYTHON", version=0)),
        ({"code": 10, "language": "MARTIAN"}, Command(10, language="MARTIAN", version=0)),
        ({"code": 10, "unknown": [1, {"a": 2}]}, Command(10, language="JAVA", version=0)),
        ({"extFields": None, "code": 10, "remark": None}, Command(10, language="JAVA", version=0)),
        ({"code": 10, "extFields": {}}, Command(10, {}, language="JAVA", version=0)),
        (
            {"code": 310, "extFields": {"e": 3, "k": False, "b": "T", "x": None, "y": 1.5}},
            Command(310, {"e": "3", "k": "false", "b": "T", "y": "1.5"}, language="JAVA", version=0),
        ),
    ],
)
def test_json_headers_that_java_accepts(header: dict, expected: Command) -> None:
    assert decode_frame(json_frame(**header)) == expected


def test_a_newline_inside_the_header_length_is_accepted() -> None:
    assert decode_frame(framed(b'{"code":34,"opaque":1}\n', b"body")).body == b"body"


def test_no_ext_fields_and_empty_ext_fields_are_written_differently() -> None:
    assert b"extFields" not in encode_frame(Command(0))
    assert b'"extFields":{}' in encode_frame(Command(0, {}))
    assert decode_frame(encode_frame(Command(0))).fields is NO_FIELDS


def test_an_empty_text_is_absent_in_binary_and_empty_in_json() -> None:
    command = Command(10, {"a": "", "b": "x"})
    assert decode_frame(encode_frame(command)).fields == {"a": "", "b": "x"}
    command.serialization = BINARY
    assert decode_frame(encode_frame(command)).fields == {"b": "x"}


@pytest.mark.parametrize(
    "frame",
    [
        framed(b"{}", serialization=7),
        framed(b"not json"),
        framed(b"[1]"),
        framed(b'"text"'),
        framed(b'{"code":1e400}'),
        framed(b'{"code":[1]}'),
        framed(b'{"code":4294967296}'),
        framed(b'{"code":"many"}'),
        framed(b'{"extFields":[1]}'),
        framed(b'{"code":1,"remark":"\xff"}'),
        framed(b"{" * 5000),
        framed(b""),
        framed(b"\x00" * 20, serialization=BINARY),
        framed(bytes(13) + b"\x7f\xff\xff\xff", serialization=BINARY),
        framed(bytes(13) + b"\xff\xff\xff\xff", serialization=BINARY),
        framed(bytes(17) + b"\x00\x00\x00\x08\x00\x02ab\x00\x00\x00\x09", serialization=BINARY),
        framed(bytes(17) + b"\x00\x00\x00\x08\xff\xf0ab\x00\x00\x00\x01", serialization=BINARY),
        b"\x00\x00\x00\x04\x00\x00\x00\x01",
        b"\x00\x00\x00\x04\x00\x00\x00",
        b"\x00\x00\x00\x05\x00\x00\x00\x00",
    ],
)
def test_nonsense_is_the_peers_fault(frame: bytes) -> None:
    with pytest.raises(RemoteWireError):
        decode_frame(frame)


@pytest.mark.parametrize(
    "start",
    [
        (16_777_213).to_bytes(4, "big"),
        b"\x7f\xff\xff\xff",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x03",
        b"\x16",
        b"\x16\x03\x01\x02\x00",
    ],
)
def test_a_length_that_no_frame_has_is_found_at_once(start: bytes) -> None:
    with pytest.raises(RemoteWireError):
        list(FrameDecoder().feed(start))


def test_the_largest_frame_is_waited_for() -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed((16_777_212).to_bytes(4, "big") + b"\x00")) == []
    assert decoder.buffered() == 5


def test_frames_before_a_bad_one_are_handed_over() -> None:
    good = encode_frame(Command(1, opaque=5))
    stream = FrameDecoder().feed(good + good + framed(b"{}", serialization=9))
    assert [next(stream).opaque, next(stream).opaque] == [5, 5]
    with pytest.raises(RemoteWireError):
        next(stream)


def test_a_large_body_in_small_pieces_is_joined_once() -> None:
    frame = encode_frame(Command(10, {"topic": "T"}, body=bytes(1 << 20)))
    decoder, commands = FrameDecoder(), []
    for at in range(0, len(frame), 1024):
        commands += decoder.feed(frame[at : at + 1024])
    assert [len(command.body) for command in commands] == [1 << 20]


@pytest.mark.parametrize(
    "command",
    [
        Command(200050, serialization=BINARY),
        Command(10, {"queueId": 3}),  # type: ignore[dict-item]
        Command(10, {"queueId": 3}, serialization=BINARY),  # type: ignore[dict-item]
        Command(10, language="MARTIAN", serialization=BINARY),
        Command(10, {"lone": "\ud800"}),
        Command(10, {"lone": "\ud800"}, serialization=BINARY),
        Command(10, serialization=5),
        Command(10, body=bytes(FRAME_BYTES_MAX)),
    ],
)
def test_what_cannot_be_written_is_our_fault(command: Command) -> None:
    with pytest.raises(LocalWireError):
        encode_frame(command)


_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_int32 = st.integers(-(2**31), 2**31 - 1)
_int16 = st.integers(-(2**15), 2**15 - 1)
_commands = st.builds(
    Command,
    code=_int16,
    fields=st.dictionaries(_text, _text, max_size=6),
    body=st.binary(max_size=64),
    remark=st.none() | _text,
    flag=_int32,
    opaque=_int32,
    language=st.sampled_from(["JAVA", "PYTHON", "GO", "CPP"]),
    version=_int16,
    serialization=st.sampled_from([JSON, BINARY]),
)


@given(_commands)
def test_any_command_comes_back(command: Command) -> None:
    assert decode_frame(encode_frame(command)) == command


@given(st.lists(_commands, max_size=4), st.integers(1, 50))
def test_any_stream_comes_back_however_it_is_cut(commands: list[Command], size: int) -> None:
    stream = b"".join(map(encode_frame, commands))
    decoder = FrameDecoder()
    read = [c for at in range(0, len(stream), size) for c in decoder.feed(stream[at : at + size])]
    assert read == commands


@given(st.binary(max_size=200))
def test_random_bytes_are_only_ever_a_remote_error(data: bytes) -> None:
    with contextlib.suppress(RemoteWireError):
        list(FrameDecoder().feed(data))


@given(st.binary(max_size=120), st.sampled_from([JSON, BINARY]))
def test_random_headers_are_only_ever_a_remote_error(header: bytes, serialization: int) -> None:
    with contextlib.suppress(RemoteWireError):
        decode_frame(framed(header, serialization=serialization))


@given(_commands, st.data())
def test_a_damaged_frame_is_read_or_refused_never_worse(command: Command, data: st.DataObject) -> None:
    frame = bytearray(encode_frame(command))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(RemoteWireError):
        list(FrameDecoder().feed(bytes(frame)))
