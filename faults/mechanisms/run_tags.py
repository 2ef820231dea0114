"""Whose are these things? A name on this machine that a run holds as long as it lives.

Question: there are namespaces, processes and folders of ours. Does the run that made them still live, wherever it keeps
its heal journal?

Model. All that a run makes on the machine has its *tag* in its name. The run holds an abstract Unix socket with that
tag: it is nowhere on a disk, the kernel drops it with the process, however that ends, and shows it to everybody
(``/proc/net/unix``), whatever the user, home and temporary folder.

Limits. Linux. Names of such sockets belong to a network namespace: a process in another one sees none.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SOCKETS: Final = Path("/proc/net/unix")
NAME: Final = "@mqchaos/"
"""How the kernel shows the names (``@`` stands for the zero that they begin with)."""


def make_tag(run: str) -> str:
    """A tag that no other run has: letters, digits and hyphens."""
    return f"{_stem(run)}-{secrets.token_hex(3)}"


def is_tag_of(tag: str, run: str) -> bool:
    """Whether :func:`make_tag` may have made *tag* for *run*."""
    return tag.rpartition("-")[0] == _stem(run)


def _stem(run: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", run)[-40:]


def hold(tag: str) -> socket.socket:
    """From now on *tag* is held, until the socket is closed or this process ends; ``OSError`` if somebody holds it."""
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind("\0" + NAME[1:] + tag)
    except OSError:
        holder.close()
        raise
    return holder


def held_tags() -> list[str]:
    """Tags of the runs that live, sorted."""
    names = (line.rpartition(" ")[2] for line in SOCKETS.read_text(errors="replace").splitlines())
    return sorted(name.removeprefix(NAME) for name in names if name.startswith(NAME))


def is_part_of(name: str, prefix: str, tags: Sequence[str]) -> bool:
    """Whether *name* is that of a thing of one of *tags*: *prefix*, tag, and what it is."""
    return any(name == prefix + tag or name.startswith(f"{prefix}{tag}-") for tag in tags)
