"""Why a worker cannot register, from the errors that Dask raises."""

from __future__ import annotations

import errno
import logging
import ssl
from pathlib import Path

import pytest

from httpbed.addons.cluster import worker
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.worker import WorkerOptions
from httpbed.base.errors import HostError

THERE = Scheduler("tls://10.0.0.1:8786", Path("cluster"))


def _reason(monkeypatch: pytest.MonkeyPatch, *chain: Exception, host: str | None = None) -> str:
    """Serve with a worker that raises the last of these errors, each because of the one before."""

    async def fail(*_: object) -> None:
        for error, cause in zip(chain[1:], chain, strict=False):
            error.__cause__ = cause
        raise chain[-1]

    monkeypatch.setattr(worker, "_serve", fail)
    monkeypatch.setattr(worker, "configure_dask", lambda _: None)
    with pytest.raises(HostError) as raised:
        worker.serve(WorkerOptions(THERE, "alpha", host=host), lambda _: None)
    return str(raised.value)


def test_a_foreign_certificate_is_the_reason_and_not_the_timeout_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask tries again until its time is over, and raises that."""
    refused = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")
    late = TimeoutError("Worker start timed out after 10s.")
    reason = _reason(monkeypatch, refused, OSError("closed"), TimeoutError(), late)
    assert "certificate verify failed" in reason
    assert THERE.address in reason
    assert "TimeoutError" in _reason(monkeypatch, TimeoutError())


def test_an_address_that_this_machine_lacks_is_not_the_schedulers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    failed = RuntimeError("Worker failed to start.")
    reason = _reason(monkeypatch, absent, failed, host="192.0.2.1")
    assert "192.0.2.1" in reason
    assert "--host" in reason
    assert "scheduler" not in reason


def test_what_a_closed_connection_raises_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Dask goes on to send in callbacks of Tornado's, which logs their tracebacks."""
    worker.configure_dask()
    for name in ("tornado.application", "distributed.client"):
        logging.getLogger(name).error("Exception in callback")
    assert not caplog.records
