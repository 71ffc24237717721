"""Records a page with all its bodies, in a browser that reaches nothing but its way out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from httpbed.addons.pages.load import driver_output, lenient_json
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.driver_output import LoadError
from httpbed.addons.pages.load.program_report import DRIVER_OUTPUT
from httpbed.addons.pages.mirror import way_out
from httpbed.addons.pages.mirror.way_out import GuardedProxy
from httpbed.base import untrusted_files
from httpbed.base.errors import BedError
from httpbed.bed.sandbox.dialogue import run_tool
from httpbed.bed.sandbox.sandbox_spec import TOOLS, PartSpec, Ports, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import NO_PAGE, Part
from httpbed.trial import program_roots
from httpbed.trial.plan import SANDBOX_BYTES

BROWSER = "chromium-headless-shell"
RELAY = "browsers.relay"
CLIENT = "client"
RELAY_PORT = 1080
FILE_BYTES = 2**28
"""Upper bound of all that the browser leaves."""
LATE_S = 40.0
"""Time that the driver takes beside the load."""
_SHOWN = "/outside"
"""Where the part sees the folder with the way out's socket."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class PageRecording:
    """A load with the bodies of its responses."""

    load: BrowserLoad
    bodies: dict[str, tuple[bytes, bool]]
    """Each as the browser decoded it, with whether it is binary, by the number of the request; a
    redirect's last response has its number."""
    way: GuardedProxy


async def record(
    url: str, catalog: Catalog, time_limit_s: float, folder: Path, say: Say
) -> PageRecording:
    """Load a URL once, cold, and keep everything that came; ``folder`` is new, for scratch.

    Raises:
        ConfigError: The URL cannot be loaded.
        BedError: The browser or the sandbox failed.
        HostError: This machine lacks something.
    """
    permission = await way_out.permission_of(url)
    programs = program_roots.ensure(catalog, [BROWSER], say=say)
    outside, trial, scratch = (folder / name for name in ("outside", "trial", "sandbox"))
    for each in (folder, outside, trial, scratch):
        each.mkdir()
    outside.chmod(0o755)
    driver = _driver(catalog, url, time_limit_s)
    limits = PartSpec(
        BROWSER,
        CLIENT,
        folders={CLIENT: FILE_BYTES},
        shared={_SHOWN: outside},
        memory_bytes=driver.memory_bytes,
        processes=driver.processes,
    )
    spec = SandboxSpec(
        scratch=scratch,
        trial=trial,
        roots=programs.roots(),
        shared={},
        programs={},
        hosts={CLIENT: {}},
        sysctls={},
        tmpfs_bytes=SANDBOX_BYTES,
        parts={CLIENT: programs.part(limits)},
    )
    async with way_out.open_at(outside, permission) as way, sandbox(spec) as supervisor:
        words = ("ip", "link", "set", "dev", "lo", "up")
        await run_tool(supervisor, ProcessSpec(words, host=CLIENT, root=TOOLS))
        await supervisor.start(_relay(driver))
        ended = await supervisor.run(replace(driver, files={}, timeout_s=time_limit_s + LATE_S))
    left = trial / CLIENT
    try:
        return PageRecording(driver_output.read(left), _bodies(left), way)
    except (LoadError, untrusted_files.UnreadableError) as error:
        last_line = untrusted_files.last_line(left, DRIVER_OUTPUT)
        raise BedError(f"{BROWSER} left no recording: {error} ({ended}; {last_line})") from None


def _driver(catalog: Catalog, url: str, time_limit_s: float) -> ProcessSpec:
    """Plan the browser by its recipe, and add what makes it record."""
    part = Part(
        name=CLIENT,
        role="client",
        host=CLIENT,
        http_version="2",
        server_name=NO_PAGE.origins[0],
        server_address="127.0.0.1",
        port=443,
        fetches=(),
        certificates="/certificates",
        content="",
        time_limit_s=time_limit_s,
        file_bytes=FILE_BYTES,
        page=NO_PAGE,
    )
    planned = catalog[BROWSER].plan(part)
    words = (f"--url={url}", f"--record={RELAY_PORT}")  # the last of equal options counts
    return replace(planned, argv=(*planned.argv, *words), part=CLIENT, host=CLIENT)


def _relay(driver: ProcessSpec) -> ProcessSpec:
    """Plan the program that leads a port of loopback to the way out."""
    program = ("python3", "-m", RELAY)
    words = (str(RELAY_PORT), f"{_SHOWN}/{way_out.SOCKET}")
    ready = Ports(tcp=(RELAY_PORT,))
    return replace(driver, argv=(*program, *words), stdout=None, stderr=None, ready=ready)


def _bodies(left: Path) -> dict[str, tuple[bytes, bool]]:
    content = untrusted_files.data(left / "bodies.bin", most=FILE_BYTES)
    bodies: dict[str, tuple[bytes, bool]] = {}
    begin = 0
    for one in lenient_json.objects(left / "bodies.jsonl"):
        end = begin + lenient_json.count(one, "bytes")
        request = lenient_json.text(one, "requestId", 200)
        bodies[request] = (content[begin:end], one.get("binary") is True)
        begin = end
    return bodies
