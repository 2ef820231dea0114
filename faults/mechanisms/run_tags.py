"""Whose are these things? A name on this machine that a run holds as long as it lives.

Question: there are namespaces, processes and folders of ours. Does the run that made them still live, wherever it keeps
its heal journal?

Model. All that a run makes on the machine has its *tag* in its name. The run holds an abstract Unix socket with that
tag: it is nowhere on a disk, the kernel drops it with the process, however that ends, and shows it to everybody
(``/proc/net/unix``), whatever the user, home and temporary folder.

A run in a network namespace of a user's own gets its socket from a process that stayed in that of the machine
(:data:`GIVER`): a socket belongs to the network in which it was made, whoever holds it.

Limits. Linux. Names of such sockets belong to a network namespace: a process in another one sees none.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SOCKETS: Final = Path("/proc/net/unix")
NAME: Final = "@mqchaos/"
"""How the kernel shows the names (``@`` stands for the zero that they begin with)."""

GIVER: Final = "MQCHAOS_GIVER"
"""Environment: the socket file of who makes sockets in the machine's network; not set if this is that network."""
FOLDER_PREFIX: Final = "mqchaos-giver-"
GIVER_TIMEOUT_S: Final = 10.0
LONGEST: Final = 255


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
    return _asked_for(os.environ[GIVER], tag) if GIVER in os.environ else _made(tag)


def _made(tag: str) -> socket.socket:
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind("\0" + NAME[1:] + tag)
    except OSError:
        holder.close()
        raise
    return holder


def _asked_for(giver: str, tag: str) -> socket.socket:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(GIVER_TIMEOUT_S)
        link.connect(giver)
        link.sendall(tag.encode())
        _, given, _, _ = socket.recv_fds(link, 1, 1)
    if not given:
        raise OSError(f"no sign of life for {tag}: somebody holds it")
    return socket.socket(fileno=given[0])


def give(link: socket.socket) -> None:
    """Answer one who asks for the socket of a tag: with it, or with nothing if somebody holds that tag."""
    link.settimeout(GIVER_TIMEOUT_S)
    try:
        with _made(link.recv(LONGEST).decode()) as holder:
            socket.send_fds(link, [b"1"], [holder.fileno()])
    except (OSError, UnicodeDecodeError):
        return


def held_tags() -> list[str]:
    """Tags of the runs that live, sorted."""
    names = (line.rpartition(" ")[2] for line in SOCKETS.read_text(errors="replace").splitlines())
    return sorted(name.removeprefix(NAME) for name in names if name.startswith(NAME))


def is_part_of(name: str, prefix: str, tags: Sequence[str]) -> bool:
    """Whether *name* is that of a thing of one of *tags*: *prefix*, tag, and what it is."""
    return any(name == prefix + tag or name.startswith(f"{prefix}{tag}-") for tag in tags)
