"""Where randomness comes from: one seed, one generator a name.

Question: how can a draw be added in one place without moving every draw elsewhere?

Model. A child generator is seeded by SHA-256 of the run's seed and the child's name (``net/broker-a-0>client-1``,
``disk/broker-a-0``, ``node/namesrv-1/2``). Children never share state, so their order of creation does not matter.
The *final draw* is one more draw from every child and from the root, mixed: two runs that differ in a single draw
anywhere differ in it. It is the cheapest test of determinism there is (FoundationDB).

Limits. Nothing here uses ``hash()``; PYTHONHASHSEED has no influence.
"""

from __future__ import annotations

from hashlib import sha256
from random import Random


def derive(seed: int, name: str) -> int:
    """A 256-bit seed for the child *name* of *seed*."""
    return int.from_bytes(sha256(f"{seed}/{name}".encode()).digest(), "big")


class Seeds:
    """The family of generators of one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._root = Random(derive(seed, ""))
        self._children: dict[str, Random] = {}

    def child(self, name: str) -> Random:
        """The generator called *name*; the same object every time."""
        generator = self._children.get(name)
        if generator is None:
            generator = self._children[name] = Random(derive(self.seed, name))
        return generator

    def final_draw(self) -> int:
        """64 bits that depend on every draw made so far. Draws once from everything, so a second call differs."""
        digest = sha256(self._root.getrandbits(64).to_bytes(8, "big"))
        for name in sorted(self._children):
            digest.update(name.encode())
            digest.update(self._children[name].getrandbits(64).to_bytes(8, "big"))
        return int.from_bytes(digest.digest()[:8], "big")
