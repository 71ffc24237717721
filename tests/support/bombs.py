"""Files that become far larger in memory, and the memory that a reader takes for one.

    python bombs.py READER BOMB FOLDER

prints the reader's peak memory in MB, and the beginning of what it returned.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LENGTH = 63_000_000
"""Below the bound of a file's bytes."""


def _filled(unit: str, begin: str = "", end: str = "") -> str:
    return begin + unit * ((LENGTH - len(begin) - len(end)) // len(unit)) + end


BOMBS: dict[str, Callable[[], str]] = {
    "objects": lambda: _filled("{}\n"),
    "list": lambda: _filled("{},", "[", "{}]\n"),
    "lists": lambda: _filled("[],", "[", "[]]\n"),
    "member": lambda: _filled("{},", '{"streams": [', "{}]}\n"),
    "numbers": lambda: _filled("1e9,", "[", "1]\n"),
    "keys": lambda: "{" + ",".join(f'"{i:x}":0' for i in range(5_000_000)) + "}\n",
    "nested": lambda: "[" * LENGTH,
    "digits": lambda: "1" * LENGTH,
    "empty lines": lambda: "\n" * LENGTH,
    "short lines": lambda: _filled("ab\n"),
    "quotes": lambda: _filled('\\"', '{}\n{"a": "'),
    "log": lambda: _filled('{"protocol":"HTTP/2.0","status":200,"body_bytes":1}\n'),
    "events": lambda: _filled('{"method":"Network.requestWillBeSent","params":{}}\n'),
}


def _driver_output(file: Path) -> Any:
    from httpbed.addons.pages.load import driver_output  # noqa: PLC0415 - only what is measured

    (file.parent / "load.json").write_text('{"schema": 1, "ended": "loaded"}')
    file.rename(file.parent / "cdp.jsonl")
    return driver_output.read(file.parent).notes


def _har(file: Path) -> Any:
    from httpbed.addons.pages.har import har_file  # noqa: PLC0415 - as above
    from httpbed.base.errors import ConfigError  # noqa: PLC0415 - as above

    try:
        return har_file.read_file(file)
    except ConfigError as error:
        return error


def _program(name: str) -> Callable[[Path], Any]:
    def read(file: Path) -> Any:
        from httpbed.programs import parsers  # noqa: PLC0415 - as above

        report = parsers.read(name, file)
        return report.complaint[:200] or f"{len(report.requests)} requests"

    return read


PROGRAMS = (
    *("curl-json", "requests-json", "quiche-json", "access-log-json", "caddy-json"),
    *("wget-log", "wget2-stats", "gtlsclient-log"),
)
READERS: dict[str, Callable[[Path], Any]] = {
    **{name: _program(name) for name in PROGRAMS},
    "driver_output": _driver_output,
    "har": _har,
}


def main(reader: str, bomb: str, folder: str) -> None:
    """Read a bomb."""
    file = Path(folder) / "bomb"
    with file.open("w") as target:
        target.write(BOMBS[bomb]())
    before = _reset_peak()
    found = READERS[reader](file)
    sys.stdout.write(f"{max(0, _peak_kb() - before) // 1024}\t{str(found)[:200]}\n")


def _reset_peak() -> int:
    """Begin to count the peak anew; return the memory in use now, in kB."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak_kb()


def _peak_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
    main(*sys.argv[1:])
