"""Frames of RocketMQ as the proxy sees them: boundaries wherever the stream is split, headers of both kinds,
nonsense."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.mechanisms.frameproxy.frames import Boundaries, Frame, Splitter, read_frame

JSON_HEADER = b'{"code":10,"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":1}'
JSON = struct.pack(">II", len(JSON_HEADER) + 4, len(JSON_HEADER)) + JSON_HEADER
BINARY_HEADER = struct.pack(">hbhiiii", 34, 0, 1, 9, 1, 0, 0)
BINARY = struct.pack(">II", len(BINARY_HEADER) + 8, 1 << 24 | len(BINARY_HEADER)) + BINARY_HEADER + b"body"


def test_header_in_json() -> None:
    assert read_frame(JSON) == Frame(JSON, code=10, opaque=7, is_response=False)


def test_header_in_binary_of_an_answer() -> None:
    assert read_frame(BINARY) == Frame(BINARY, code=34, opaque=9, is_response=True)


def test_header_that_says_nothing_is_a_frame_all_the_same() -> None:
    data = struct.pack(">II", 7, 3) + b"{no"
    assert read_frame(data) == Frame(data, code=-1, opaque=-1, is_response=False)


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """(frames, the same bytes in arbitrary pieces)"""
    frames = draw(st.lists(st.sampled_from([JSON, BINARY]), min_size=1, max_size=6))
    stream = b"".join(frames)
    splits = draw(st.lists(st.integers(0, len(stream)), max_size=12))
    places = [0, *sorted(splits), len(stream)]
    return frames, [stream[a:b] for a, b in pairwise(places)]


@given(cut_streams())
def test_splitter_finds_the_frames_in_any_cut(streams: tuple[list[bytes], list[bytes]]) -> None:
    frames, pieces = streams
    splitter = Splitter()
    found = [frame for piece in pieces for frame in splitter.feed(piece)]
    assert [frame.data for frame in found if isinstance(frame, Frame)] == frames
    assert splitter.flush() == b""


@given(cut_streams(), st.data())
def test_who_joins_in_the_middle_begins_with_the_next_frame(
    streams: tuple[list[bytes], list[bytes]], data: st.DataObject
) -> None:
    frames, pieces = streams
    joins = data.draw(st.integers(0, len(pieces) - 1))
    boundaries = Boundaries()
    for piece in pieces[:joins]:
        boundaries.take(piece)
    starts = {sum(map(len, frames[:index])) for index in range(len(frames) + 1)}
    position = sum(map(len, pieces[:joins]))
    assert boundaries.is_at_boundary == (position in starts)
    for piece in pieces[joins:]:
        step = boundaries.next_boundary(piece)
        if step < len(piece) or boundaries.is_at_boundary:
            assert position + step == min(start for start in starts if start >= position)
            return
        boundaries.take(piece)
        position += len(piece)


@pytest.mark.parametrize("stream", [b"\xff\xff\xff\xff rest", b"\x00\x00\x00\x01rest"])
def test_another_protocol_passes_as_it_is(stream: bytes) -> None:
    splitter, boundaries = Splitter(), Boundaries()
    boundaries.take(stream)
    assert splitter.feed(stream) == [stream]
    assert splitter.feed(b"more") == [b"more"]
    assert (splitter.is_framed, boundaries.is_at_boundary) == (False, False)
