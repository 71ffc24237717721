"""Seeds: each random decision depends only on the experiment's seed and on its own name.

The key of an impairment's random stream depends on block, link, direction and impairment only. So
the key differs between blocks, and it is the same for all treatments of a block: the n-th packet
gets the same draw in each of them. Adding an impairment does not change the draws of another.
"""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: object) -> int:
    """Derive a 64-bit seed for the decision that ``names`` identify."""
    text = "\x1f".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def stream_key(seed: int, block: int, link: str, direction: str, impairment: str) -> int:
    """Return the key of the counter-based random stream of one impairment in one block."""
    return derive(seed, "impairment", block, link, direction, impairment)


def block_order(seed: int, block: int) -> random.Random:
    """Return the generator that orders the trials of a block."""
    return random.Random(derive(seed, "order", block))  # noqa: S311 - not a secret


def guest(seed: int, block: int) -> int:
    """Return the seed of all randomness of the kernel of a trial in virtual time."""
    return derive(seed, "guest", block)


def content(seed: int, size: int, number: int) -> int:
    """Return the seed of the content of the ``number``-th file of ``size`` bytes."""
    return derive(seed, "text", size, number)
