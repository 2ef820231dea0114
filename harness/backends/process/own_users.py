"""An ordinary user's own network namespaces: the command starts again as root of a user namespace.

Question: partitions need a network namespace for every node, and those need root. Whose root? That of a user namespace
will do, and Linux gives one to anybody: in it we are root over what we make ourselves, and over nothing else. So a
command that is to run processes begins anew inside, before there is any thread; what it writes belongs to the user.

``ip netns`` keeps its names below ``/run``, which is not ours: there the command sees a place of its own, with links to
what was there. A run's sign of life has to be seen from outside (``faults/mechanisms/run_tags.py``): a child that stays
behind makes such sockets and hands them over, and ends with the command. The namespaces end with the last process in
them, and with them every network and every rule; what ``mqchaos heal`` has to end after a ``kill -9`` are processes,
and those are the user's.

Limits. Disks that lose their power stay root's, since a user namespace mounts no image. The command has no network but
its own: whatever has to be fetched is fetched before. Some kernels and containers give no user namespace: then it stays
with the loopback.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from select import select
from shutil import rmtree
from tempfile import mkdtemp

from faults.mechanisms import run_tags
from faults.mechanisms.command import SYSTEM_PATH, ToolFailed, call, find_tool
from harness.backends.process.capabilities import NETWORK_TOOLS, is_in_user_namespace

AS_ROOT = ("unshare", "--user", "--map-root-user", "--mount", "--net")
OWN_PLACES = """
set -e
"$1" link set lo up
shift
mount --rbind /run /mnt
mount -t tmpfs -o mode=755 mqchaos /run
for entry in /mnt/* /mnt/.[!.]*; do
    name=${entry#/mnt/}
    [ "$name" = netns ] || ! [ -e "$entry" ] || ln -s "$entry" "/run/$name"
done
mkdir /run/netns
exec "$@"
"""


def is_to_be_had() -> bool:
    """Whether this user is no root, has the tools, and the kernel gives namespaces of users, mounts and networks."""
    if os.geteuid() == 0 or is_in_user_namespace() or any(find_tool(tool) is None for tool in NETWORK_TOOLS):
        return False
    try:
        call(inside(str(find_tool("ip")), "netns", "add", "tried"))
    except ToolFailed:
        return False
    return True


def enter() -> None:
    """Start this command again inside; does not return. Only where :func:`is_to_be_had`: trying that takes a while."""
    os.set_inheritable(leave_a_giver(), True)
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}"
    command = inside(sys.executable, *sys.orig_argv[1:])
    sys.stdout.flush()
    os.execvp(command[0], command)


def inside(*command: str) -> list[str]:
    """*command* as root of a user namespace, with a network and places of its own."""
    return [*AS_ROOT, "sh", "-c", OWN_PLACES, "mqchaos", str(find_tool("ip")), *command]


def leave_a_giver() -> int:
    """A child that gives signs of life of this network to whoever asks at ``GIVER`` in our environment. Returns our end
    of a pipe: it ends when the last process that has it open ends."""
    folder = Path(mkdtemp(prefix=run_tags.FOLDER_PREFIX, dir="/tmp"))  # a socket's path may have 107 bytes only
    place = folder / "giver"
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    asked.bind(str(place))
    asked.listen()
    ends, ours = os.pipe()
    if os.fork() == 0:
        try:
            os.close(ours)
            _let_go_of_the_terminal()
            _give(asked, ends)
        finally:
            rmtree(folder, ignore_errors=True)
            os._exit(0)
    os.close(ends)
    asked.close()
    os.environ[run_tags.GIVER] = str(place)
    return ours


def _let_go_of_the_terminal() -> None:
    """Neither a Ctrl-C nor whoever waits for the end of our output has to do with us."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def _give(asked: socket.socket, ends: int) -> None:
    while ends not in select([asked.fileno(), ends], [], [])[0]:
        one, _ = asked.accept()
        with one:
            run_tags.give(one)
