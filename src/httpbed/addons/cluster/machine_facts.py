"""What a worker says about its machine when it registers."""

from __future__ import annotations

import uuid

from httpbed.addons.calibration import certificate
from httpbed.addons.cluster import messages
from httpbed.addons.cluster.messages import CertificateFacts, WorkerFacts
from httpbed.base.errors import HostError
from httpbed.bed.machine import doctor, facts
from httpbed.bed.sandbox import binaries
from httpbed.bed.toolbox import toolbox


def gather(name: str, slots: int) -> WorkerFacts:
    """Test this machine, and return the facts of a worker that registers now."""
    return WorkerFacts(
        name=name,
        registration=uuid.uuid4().hex,
        slots=slots,
        code=messages.own_code(),
        host=facts.gather(),
        certificate=_certificate(),
        unable=_unable(),
    )


def require_able() -> None:
    """Check that this machine can run trials.

    Raises:
        HostError: It cannot; with the remedy.
    """
    doctor.require_namespaces(doctor.run_capability_tests(toolbox.find(toolbox.TOOLS)))
    doctor.require_disk()
    for name in binaries.ALL:
        binaries.executable(name)


def _unable() -> str:
    try:
        require_able()
    except HostError as error:
        return str(error)
    return ""


def _certificate() -> CertificateFacts | None:
    found = certificate.read()
    if found is None:
        return None
    return CertificateFacts(date=found.date, passed=bool(found.document.get("passed")))
