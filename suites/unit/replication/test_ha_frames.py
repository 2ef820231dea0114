"""The bytes of the HA protocol, whatever TCP makes of them (P35, P41)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.replication.frames import FrameReader, ReportReader, encode_frame, encode_report

OFFSETS = st.integers(-(1 << 63), (1 << 63) - 1)


def test_worked_examples() -> None:
    assert encode_report(0x2000).hex() == "0000000000002000"
    assert encode_frame(0x2000).hex() == "000000000000200000000000"
    assert encode_frame(0x2000, bytes(32 * 1024))[:12].hex() == "000000000000200000008000"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """*data* in pieces."""
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(borders)]


@given(st.lists(OFFSETS, min_size=1, max_size=8), st.lists(st.integers(0, 1000)))
def test_the_newest_complete_report_counts(offsets: list[int], places: list[int]) -> None:
    reader, heard, received = ReportReader(), [], 0
    for piece in cut(b"".join(map(encode_report, offsets)), places):
        received += len(piece)
        report = reader.feed(piece)
        whole = received // 8
        if report is not None:
            heard.append(report)
            assert report == offsets[whole - 1]
    assert heard[-1] == offsets[-1]


@given(st.lists(st.tuples(OFFSETS, st.binary(max_size=40)), max_size=6), st.lists(st.integers(0, 1000), max_size=20))
def test_frames_come_out_as_they_went_in(sent: list[tuple[int, bytes]], places: list[int]) -> None:
    reader, found = FrameReader(), []
    for piece in cut(b"".join(encode_frame(*frame) for frame in sent), places):
        reader.feed(piece)
        while (header := reader.header()) is not None and (body := reader.body(header.size)) is not None:
            found.append((header.offset, body))
    assert found == sent


def test_the_head_is_seen_before_the_body() -> None:
    reader = FrameReader()
    reader.feed(encode_frame(7, b"body")[:13])
    assert reader.header() == (7, 4)
    assert reader.body(4) is None
