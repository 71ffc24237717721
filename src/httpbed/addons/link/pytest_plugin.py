"""A fixture of pytest that puts a test's client or server behind an emulated link.

    @pytest.mark.httpbed(delay="50ms", loss="2%")
    def test_a_retry(httpbed_link, server):
        ended = httpbed_link.run(["curl", f"http://{httpbed_link.host}:8099/"], expose=[8099])
        assert ended.returncode == 0

The marker's arguments are the options of ``httpbed link``, with ``_`` in place of ``-``. pytest
loads this module in every run where httpbed is installed, so it imports nothing of httpbed that
takes time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

HOST = "far.test"
"""Name of the far end; RFC 6761 reserves the domain for tests."""
TIMEOUT_S = 60.0
COUNTERS = '{"schema": 1, "command": '
"""Begins the counters, which may follow a command's last line without its end."""
PROGRAM = "from httpbed.cli.main import main; main()"


@dataclass(frozen=True)
class LinkedRun:
    """A command that ended behind a link."""

    returncode: int
    stdout: str
    stderr: str
    counters: Mapping[str, Any]
    """As ``httpbed link --json`` prints them."""


@dataclass(frozen=True)
class Link:
    """A link with the impairments of a test's marker."""

    options: Mapping[str, Any] = field(default_factory=dict)
    host: str = HOST
    """The far end's name for commands."""

    def run(
        self,
        command: Sequence[str],
        *,
        expose: Sequence[int] = (),
        server: str | None = None,
        timeout_s: float = TIMEOUT_S,
        **options: Any,
    ) -> LinkedRun:
        """Run a command behind the link.

        Args:
            command: Its words.
            expose: Ports of this machine's loopback, such as those of a server that the test runs;
                the command reaches them at ``host``.
            server: Instead of ``expose``, a command line that runs a server at ``host``.
            timeout_s: Time after which the command is ended.
            **options: Further options; they replace those of the marker with the same name.

        Raises:
            subprocess.TimeoutExpired: The command took longer.
        """
        words = [*_words({**self.options, **options}), "--name", self.host]
        words += [word for port in expose for word in ("--expose", str(port))]
        words += ["--server", server] if server else []
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, "link", "--json", *words, "--", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
        stderr, begin, rest = ended.stderr.rpartition(COUNTERS)
        if not begin:  # the command did not run
            pytest.fail(ended.stderr, pytrace=False)
        return LinkedRun(ended.returncode, ended.stdout, stderr, json.loads(begin + rest))


def _words(options: Mapping[str, Any]) -> list[str]:
    """Return options as words; ``True`` is an option without a value, ``False`` takes it back."""
    words = []
    for name, value in options.items():
        if value is False:
            continue
        words.append(f"--{name.replace('_', '-')}")
        words += [] if value is True else map(str, value if isinstance(value, tuple) else (value,))
    return words


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    line = "httpbed(**options): the link of the fixture httpbed_link, as options of httpbed link"
    config.addinivalue_line("markers", line)


@pytest.fixture
def httpbed_link(request: pytest.FixtureRequest) -> Link:
    """Return the link of the test's marker."""
    marker = request.node.get_closest_marker("httpbed")
    return Link(marker.kwargs if marker else {})
