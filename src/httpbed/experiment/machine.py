"""Facts about the machine that ran a campaign, as its manifest records them."""

from __future__ import annotations

from typing import Any

from httpbed.base.value import Value


class MachineFacts(Value):
    """A machine as visible to the user who ran httpbed."""

    kernel: str
    """The kernel's release, such as ``6.1.0-25-amd64``."""
    architecture: str
    """The processor's instruction set, such as ``x86_64``."""
    distribution: str
    """Name and version of the Linux distribution; empty if unknown."""
    cpu: str
    """The processor's model name; empty if the kernel does not report it."""
    cores: int
    """Logical processors that httpbed could use."""
    memory_bytes: int
    """Main memory."""
    load: tuple[float, float, float]
    """Average number of runnable processes over 1, 5 and 15 minutes."""
    steal: float | None
    """Share of the processors' time since boot that the hypervisor used for other guests."""
    pressure: bool
    """Whether the kernel reports CPU pressure (PSI)."""
    governor: str | None
    """Frequency governor of the first core; absent if not visible."""
    hypervisor: bool
    """Whether the machine is a virtual one, as far as it can detect."""
    container: str | None
    """The kind of container, as far as it can be detected; absent outside of one."""
    uid: int
    """Numeric user identifier."""

    def as_json(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return self.model_dump()
