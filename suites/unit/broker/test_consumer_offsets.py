"""Where groups stand: the last word counts, and the file looks as RocketMQ writes it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.broker.offsets import ConsumerOffsets
from reference_impl.wire.dialect import parse_lenient

GOLDEN = Path(__file__).parents[2] / "conformance" / "golden" / "store" / "4.9.7"
FILES = sorted(GOLDEN.rglob("consumerOffset.json"))


def test_the_last_commit_counts_also_a_smaller_one() -> None:
    offsets = ConsumerOffsets()
    for offset in (7, 3, 3, 9):
        offsets.commit("G", "T", 0, offset)
    assert (offsets.query("G", "T", 0), offsets.regressions) == (9, 1)
    assert (offsets.query("G", "T", 1), offsets.query("H", "T", 0)) == (None, None)


def test_files_of_apaches_broker_are_read_and_written_as_they_were() -> None:
    assert FILES
    for file in FILES:
        offsets = ConsumerOffsets()
        offsets.load(parse_lenient(file.read_bytes()))
        assert offsets.file_text() == file.read_text(), file


def test_groups_and_topics() -> None:
    offsets = ConsumerOffsets()
    for topic, group in [("T1", "G1"), ("T1", "G2"), ("%RETRY%G1", "G1")]:
        offsets.commit(group, topic, 0, 1)
    assert offsets.groups_of("T1") == ["G1", "G2"]
    assert offsets.topics_of("G1") == ["T1", "%RETRY%G1"]
    offsets.forget_group("G1")
    assert offsets.table == {"T1@G2": {0: 1}}


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["T1", "T2"]), st.integers(0, 3), st.integers(0, 9))))
def test_what_is_written_is_what_is_read(commits: list[tuple[str, str, int, int]]) -> None:
    offsets, again = ConsumerOffsets(), ConsumerOffsets()
    for commit in commits:
        offsets.commit(*commit)
        offsets.file_text()  # the cached text must not survive the next commit
    again.load(parse_lenient(offsets.file_text().encode()))
    assert again.table == offsets.table
