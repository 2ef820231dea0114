"""A client of another implementation as a process of its own: a node with a network, whose standard input and output
are ours.

Question: how do lines get to a client process and back, while it is killed, paused and started like a server?

Model. A :class:`Node` that keeps two pipes. It is started in the lever's thread and attached to the loop afterwards:
from then on what it says is handed to its *peer* as it comes, and what the peer writes leaves as the pipe has room.
Standard error goes to the node's log. Each start is a new life with new pipes.

Limits. What is not yet in the pipe when the process dies is lost, as it would be on a wire.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.backends.backend import ClientPeer, NodeSpec
from harness.backends.process.node import ChildLife, Node

READ_BYTES = 256 * 1024


class ClientNode(Node):
    """One client process; *command* is its argv and what to add to its environment."""

    def __init__(
        self, spec: NodeSpec, folder: Path, command: tuple[Sequence[str], Mapping[str, str]], peer: ClientPeer
    ) -> None:
        super().__init__(spec, folder, folder)
        self.command, self._peer = command, peer
        self._pipes: _Pipes | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def spawn(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        with self.output[1].open("ab") as stderr:
            self._child = self.popen(argv, environment, subprocess.PIPE, subprocess.PIPE, stderr)
        self.begin(ChildLife(self._child))

    def attach(self, loop: asyncio.AbstractEventLoop, changed: Callable[[], None]) -> None:
        """From the loop's thread, once a life: begin to read and to write."""
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            return
        self._pipes = _Pipes(loop, child.stdin.fileno(), child.stdout.fileno(), self._peer.on_output, changed)
        self._peer.on_started(self._pipes.write)

    def detach(self) -> None:
        """The process has ended: what it still said is read, then the pipes are closed."""
        if self._pipes is not None and self._child is not None:
            self._pipes.drain()
            self._pipes = None
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            self._peer.on_ended()


class _Pipes:
    """The two ends in one life."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        into: int,
        out: int,
        on_output: Callable[[bytes], None],
        changed: Callable[[], None],
    ) -> None:
        self._loop, self._into, self._out, self._on_output, self._changed = loop, into, out, on_output, changed
        self._left = bytearray()
        self._is_open = True
        for descriptor in (into, out):
            os.set_blocking(descriptor, False)
        loop.add_reader(out, self._read)

    def write(self, data: bytes) -> None:
        """What the pipe has no room for leaves later."""
        was_empty = not self._left
        self._left += data
        if self._is_open and was_empty:
            self._push()

    def drain(self) -> None:
        """Read what is left and let go of the loop."""
        while self._is_open and self._read():
            pass
        self._close()

    def _read(self) -> bool:
        """Whether there was anything."""
        try:
            data = os.read(self._out, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._close()
            return False
        self._on_output(data)
        self._changed()
        return True

    def _push(self) -> None:
        try:
            del self._left[: os.write(self._into, self._left)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._left.clear()  # its end is told by the pidfd
        if self._left:
            self._loop.add_writer(self._into, self._push)
        else:
            self._loop.remove_writer(self._into)

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._out)
            self._loop.remove_writer(self._into)
