"""What every test may rely on."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Generator

import hypothesis
import pytest

import command_line
from command_line import Command
from httpbed.base.errors import HostError
from httpbed.bed import doctor

# Machines that run tests are busy: how long an example takes says nothing about the code.
hypothesis.settings.register_profile(
    "httpbed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("httpbed")

# A background job starts with SIGINT ignored, one of `nohup` with SIGHUP, and their children
# inherit that. The programs that tests interrupt must not.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

REQUIRED = os.environ.get("HTTPBED_REQUIRE_NAMESPACES") == "1"
"""Whether a machine that refuses namespaces fails the tests that need them, as in CI."""


@functools.cache
def _refusal() -> str:
    """What this machine says to somebody who wants namespaces; empty if it allows them."""
    try:
        doctor.require_namespaces(doctor.run_capability_tests(None, congestion=()))
    except HostError as error:
        return str(error)
    return ""


@pytest.fixture
def httpbed(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Return a function that runs httpbed and returns its exit code, stdout and stderr."""
    return command_line.command(monkeypatch, capfdbinary)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that need namespaces: they wait for links while others compute."""
    items.sort(key=lambda item: item.get_closest_marker("namespaces") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the tests that need namespaces where there are none, or fail them in CI."""
    if item.get_closest_marker("namespaces") and (reason := _refusal()):
        (pytest.fail if REQUIRED else pytest.skip)(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that needs namespaces and skips itself, where they are required."""
    report = yield
    if REQUIRED and report.skipped and item.get_closest_marker("namespaces"):
        report.outcome = "failed"
        report.longrepr = f"skipped where namespaces are required: {report.longrepr}"
    return report
