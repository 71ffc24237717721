"""Places in a guest, and as its kernel sees them.

Standard library only: every guest imports it.
"""

from __future__ import annotations

from pathlib import Path

HANDED = Path("/httpbed")
"""What is handed over, as seen in the guest."""
SHARED = Path("/dev/shm/httpbed")  # noqa: S108 - of the guest
"""The folder of what the guest leaves, as seen in the guest."""
LEFT = "left"
"""Name of the same folder as a part's."""
LEFT_IN_KERNEL = f"/trial/{LEFT}"
WRITTEN_IN_KERNEL = "/written"
"""The two places to which a guest writes, as its kernel sees them."""
RANDOM_DEVICE = "/random_device.so"
"""In a guest, the library that is loaded into every program under test."""
