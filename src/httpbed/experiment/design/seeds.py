"""Seeds: every random decision is a function of the experiment's seed and its own name.

The key of an impairment's stream depends on block, link, direction and impairment only. So it
differs in every block, is the same for all treatments of a block (a fair comparison: the
n-th packet meets the same luck), and switching one impairment on shifts no other.
"""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: object) -> int:
    """Derive a 64-bit seed for what ``names`` name."""
    said = "\x1f".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8], "big")


def stream_key(seed: int, block: int, link: str, direction: str, impairment: str) -> int:
    """Key of the counter-based random stream of one impairment in one block."""
    return derive(seed, "impairment", block, link, direction, impairment)


def block_order(seed: int, block: int) -> random.Random:
    """Return the generator that orders the trials of a block."""
    return random.Random(derive(seed, "order", block))  # noqa: S311 - a design, not a secret


def content(seed: int, size: int, number: int) -> int:
    """Seed of the bytes of the ``number``-th file of ``size`` bytes."""
    return derive(seed, "text", size, number)
