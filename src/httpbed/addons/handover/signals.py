"""Events that hand-overs wait for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Signals:
    """Set while a trial runs."""

    triggered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the configured bytes have been delivered."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has ended: no further step begins."""
