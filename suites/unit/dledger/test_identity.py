"""The file that says whose a store is: written once, and nobody else starts on such a disk."""

from __future__ import annotations

import pytest

from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.identity import IDENTITY_FILE, ForeignStore, Identity
from reference_impl.store.forcing import Forcing
from suites.fake_environment import FakeEnvironment

FILE = f"store/{IDENTITY_FILE}"


def start(env: FakeEnvironment, group: str = "a", member: str = "n1", *, strict: bool = True) -> None:
    """Of member *member* of *group* on the disk of *env*."""
    properties = {
        "dLegerGroup": group,
        "dLegerSelfId": member,
        "dLegerPeers": "n0-h:1;n1-h:2",
        "storeBaseDir": "store",
        "dLegerStrictIdentity": str(strict).lower(),
    }
    Identity(DLedgerConfig.from_properties(properties), Forcing()).check(env)


def text(env: FakeEnvironment) -> str:
    name = FILE if env.size(FILE) >= 0 else f"{FILE}.tmp"
    return env.read(name, 0, max(0, env.size(name))).decode()


def keep(env: FakeEnvironment, content: str) -> None:
    env.write(FILE, 0, content.encode())


def test_the_first_start_says_whose_the_disk_is() -> None:
    env = FakeEnvironment()
    start(env)
    assert sorted(line for line in text(env).splitlines() if not line.startswith("#")) == ["group=a", "selfId=n1"]


def test_without_the_switch_nothing_is_written_and_every_disk_is_good() -> None:
    env = FakeEnvironment()
    start(env, strict=False)
    assert env.files("store/") == []
    keep(env, "group=b\nselfId=n1\n")
    start(env, strict=False)


@pytest.mark.parametrize(
    ("group", "member", "why"),
    [
        ("a", "n1", ""),
        ("b", "n1", "this disk belongs to member n1 of group a, not to n1 of b"),
        ("a", "n0", "this disk belongs to member n1 of group a, not to n0 of a"),
    ],
)
def test_a_disk_that_names_somebody_else_is_refused(group: str, member: str, why: str) -> None:
    env = FakeEnvironment()
    keep(env, "group=a\nselfId=n1\n")
    if not why:
        start(env, group, member)
        return
    with pytest.raises(ForeignStore, match=why):
        start(env, group, member)


@pytest.mark.parametrize("content", ["", "group=a\n", "\0\0\0"])
def test_a_file_that_says_nothing_is_written_anew(content: str) -> None:
    env = FakeEnvironment()
    keep(env, content)
    start(env)
    assert f"{FILE}.tmp" in env.files("store/") or "selfId=n1" in text(env)


@pytest.mark.parametrize(("folder", "is_refused"), [("dledger-n0", True), ("dledger-n1", False), ("config", False)])
def test_the_log_of_another_member_is_not_ours(folder: str, is_refused: bool) -> None:
    env = FakeEnvironment()
    env.write(f"store/{folder}/data/00000000000000000000", 0, b"x")
    if not is_refused:
        start(env)
        return
    with pytest.raises(ForeignStore, match="the log of member n0, not of n1"):
        start(env)
