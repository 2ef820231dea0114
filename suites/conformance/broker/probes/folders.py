"""A commit log in several folders: in which order, and what becomes of one whose disk is full (W77 to W79)."""

from __future__ import annotations

from pathlib import Path

from harness.targets.releases import row_of
from reference_impl.environment import SECOND
from suites.conformance.broker.lives import FILE_SIZE, FolderFiles, LivingPeer, ProcessStart, StoreFiles
from suites.conformance.broker.peer import create_topic, eventually, max_offset, pull, send, stored
from suites.conformance.broker.probes.layout import KEY, put
from suites.conformance.broker.probing import Start, life

BODY = 8000
EIGHT_A_FILE = 8
"""Messages of such a body that fill a file."""


def files_in(files: StoreFiles, folder: str) -> list[int]:
    """Numbers of the log's files in a folder of the store."""
    return sorted(int(name.rpartition("/")[2]) // FILE_SIZE for name in files.names(f"{folder}/"))


def fill_files(peer: LivingPeer, count: int) -> None:
    """Store messages until one lies in the file of that number."""
    while put(peer, BODY)[0] < count * FILE_SIZE:
        pass


@life("W77", "a log in several folders")
def several_folders(start: Start) -> None:
    """Whatever the order in the configuration; a start finds them all, also when one takes no more files."""
    folders = ("log-c", "log-a", "log-b")
    peer: LivingPeer = start(storePathCommitLog=",".join(start.place(name) for name in folders))
    create_topic(peer, "T")
    fill_files(peer, 4)
    eventually(peer, lambda: files_in(peer.files, "log-c") == [2, 5] or None)  # the one made in advance
    assert (files_in(peer.files, "log-a"), files_in(peer.files, "log-b")) == ([0, 3], [1, 4])
    count = int(stored(peer, "T", b"last", KEY).fields["queueOffset"]) + 1
    for how in ("kill", "stop"):
        peer.again(how)
        eventually(peer, lambda: max_offset(peer, "T") == count or None)
        assert pull(peer, "T", 0).code == pull(peer, "T", count - 1).code == 0
    assert files_in(peer.files, "log-c") == [2]
    assert int(send(peer, "T", b"more", KEY).fields["queueOffset"]) == count


@life("W78", "a folder whose disk is full", needs="two_disks", is_slow=True)
def full_folder(start: ProcessStart) -> None:
    """Above 85 % no new file is made there, as long as another folder has room; an orderly start finds all."""
    peer, count = passed_over(start)
    peer.again("stop")
    eventually(peer, lambda: max_offset(peer, "T") == count or None)
    for offset in range(0, count, 8):
        assert pull(peer, "T", offset, count=1).code == 0
    peer.backend.perform(lambda: peer.backend.levers.empty_disk(peer.NODE))


@life("W79", "a kill after a folder was passed over", needs="two_disks", is_slow=True)
def killed_after_full_folder(start: ProcessStart) -> None:
    """Apache left a file behind there that it had made in advance; the start after a kill takes its zeros for the end
    of the log and deletes all later files, with what producers were told is stored."""
    peer, count = passed_over(start)
    peer.again("kill")
    if not start.is_apache:
        eventually(peer, lambda: max_offset(peer, "T") == count or None)
        return
    kept = send(peer, "T", b"next", KEY)
    assert kept.code == 0
    assert int(kept.fields["queueOffset"]) == EIGHT_A_FILE * 3 < count


def passed_over(start: ProcessStart) -> tuple[LivingPeer, int]:
    """A broker that went on in its second folder, because the disk of its first is full; how many messages it has."""
    beside = start.beside("log-b")
    second = str(beside) if start.is_apache else start.place("log-b")
    settings = {"diskMaxUsedSpaceRatio": "95", "cleanFileForciblyEnable": "false"}
    # In the order of the alphabet, too, the full folder comes second: the fourth file is made there, in advance.
    peer = start(storePathCommitLog=f"{start.place('log-z')},{second}", **settings)
    if not start.is_apache:  # its folders lie below the node's own, where a link may lead elsewhere
        peer.end("stop")
        assert isinstance(peer.files, FolderFiles)
        peer.files.link("log-b", beside)
        peer.begin()
    create_topic(peer, "T")
    fill_files(peer, 2)
    eventually(peer, lambda: both(peer, beside) == ([1, 3], [0, 2]) or None)
    levers = peer.backend.levers
    _, total = levers.disk_space(peer.NODE)
    peer.backend.perform(lambda: levers.fill_disk(peer.NODE, total * 125 // 1000))
    looks_after_s = 12 if row_of(peer.release).is_4 else 75  # 5.x looks from 60 s on
    peer.sleep(looks_after_s * SECOND + peer.slack_ns // 4)
    fill_files(peer, 8)
    own, other = both(peer, beside)
    assert set(own) <= {1, 3}
    assert set(range(3, 9)) <= set(other)
    return peer, int(stored(peer, "T", b"last", KEY).fields["queueOffset"]) + 1


def both(peer: LivingPeer, beside: Path) -> tuple[list[int], list[int]]:
    """Numbers of the files on the node's disk, and beside it."""
    return files_in(peer.files, "log-z"), files_in(FolderFiles(beside.parent), beside.name)
