"""A command behind a link in virtual time: what is handed over, and what comes back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.link import described_link, link_plan
from httpbed.addons.link import link_guest as guests
from httpbed.addons.link.link_guest_job import RANDOM_DEVICE, STDERR, STDOUT, HandedCommand
from httpbed.addons.link.link_plan import PCAP, LinkRequest
from httpbed.addons.virtual import boot, job
from httpbed.addons.virtual.command import INIT, Guest
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.addons.virtual.visible_files import HANDED, LEFT
from httpbed.base.errors import BedError

LIBRARY = b"a library"
NO_OPTIONS = {"outside": False, "expose": (), "meter": None}
RESULT: dict[str, Any] = {
    "exit": {"status": 3, "signal": None, "timed_out": False, "wall_s": 1.5, "cpu_s": 0.0}
    | {"max_rss_kib": 1, "runs": 1, "ended_for": None},
    "peer": "10.77.0.2",
    "outside": "none",
    "loopback_packets": 0,
    "real_time": True,
    "result": {"directions": []},
}


def kernel(folder: Path) -> GuestKernel:
    """Return a kernel that has its library, and nothing else."""
    found = GuestKernel(folder / "linux", "7.2", "a" * 64, "b" * 64)
    found.random_device.write_bytes(LIBRARY)
    return found


def made(folder: Path, *names: str) -> Path:
    """Make the folder of what a guest leaves, with empty files."""
    left = folder / "trial" / LEFT
    left.mkdir(parents=True)
    for name in names:
        (left / name).touch()
    return left


def request(folder: Path, seed: int = 7) -> LinkRequest:
    return LinkRequest(
        ("server", "--slow"), described_link.describe({"loss": "4%"}), seed, "af_packet",
        pcap=folder / "capture.pcapng", meter=True, clock="virtual",
    )  # fmt: skip


def test_a_guest_gets_the_command_its_folder_and_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It prints here what the command prints there, and leaves the capture where it belongs."""
    handed = list[tuple[HandedCommand, str, Guest]]()
    libraries = list[bytes]()

    async def boots(guest: Guest, folder: Path, *, watch: Callable[[Path], None]) -> Path:
        script = (guest.handed / INIT).read_text()
        handed.append((job.read_work(guest.handed), script, guest))
        libraries.append((guest.handed / RANDOM_DEVICE).read_bytes())
        left = made(folder, *guest.streams)
        watch(left)
        for name in (STDOUT, STDERR):
            with (left / name).open("a") as stream:
                stream.write(f"early {name}\n")
                stream.flush()
                await asyncio.sleep(2 * guests.LOOK_S)
                stream.write(f"late {name}\n")
        (left / PCAP).write_bytes(b"packets")
        job.write_result(left, RESULT)
        return left

    monkeypatch.setattr(boot, "run", boots)
    ran = asyncio.run(guests.run(request(tmp_path), kernel(tmp_path), tmp_path, print))
    ((work, script, guest),) = handed
    assert (work.request.argv, work.folder) == (("server", "--slow"), tmp_path)
    assert work.environment.items() >= os.environ.items()
    assert work.environment["LD_PRELOAD"] == str(HANDED / RANDOM_DEVICE)
    assert libraries == [LIBRARY]
    assert (work.request.outside, work.request.meter) == (False, False)
    assert script.endswith(f" {tmp_path}\n")
    assert guest.written == tmp_path
    assert not guest.handed.exists()
    assert capfd.readouterr() == ("early stdout\nlate stdout\n", "early stderr\nlate stderr\n")
    assert (tmp_path / "capture.pcapng").read_bytes() == b"packets"
    assert (ran.exit.status, ran.exit.wall_s, ran.outside) == (3, 1.5, "none")


def test_the_seed_of_a_guest_follows_from_that_of_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So --seed repeats the kernel's ports and keys, too."""
    seeds = list[int]()

    async def boots(guest: Guest, folder: Path, *, watch: Callable[[Path], None]) -> Path:
        del watch
        seeds.append(guest.seed)
        left = made(folder)
        job.write_result(left, RESULT)
        return left

    monkeypatch.setattr(boot, "run", boots)
    for seed in (7, 7, 8):
        asyncio.run(guests.run(request(tmp_path, seed), kernel(tmp_path), tmp_path, print))
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_capture_that_the_command_replaced_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """Nothing else of the user gets into the capture, nothing blocks, and the user is told."""
    others = tmp_path / "others"
    others.write_text("secret")

    async def boots(guest: Guest, folder: Path, *, watch: Callable[[Path], None]) -> Path:
        del guest, watch
        left = made(folder)
        if kind == "link":
            (left / PCAP).symlink_to(others)
        else:
            os.mkfifo(left / PCAP)
        job.write_result(left, RESULT)
        return left

    monkeypatch.setattr(boot, "run", boots)
    asyncio.run(guests.run(request(tmp_path), kernel(tmp_path), tmp_path, print))
    assert (tmp_path / "capture.pcapng").read_bytes() == b""
    assert "capture.pcapng stays empty" in capsys.readouterr().out


def test_the_emulator_sleeps_in_virtual_time() -> None:
    """While it polled for a due time, the clock would stand still."""
    spins = [
        link_plan.plan(
            LinkRequest((), described_link.describe({}), 7, "af_packet", clock=clock), "cubic"
        ).network.emulator_config["spin_us"]
        for clock in ("real", "virtual")
    ]
    assert spins[0] > spins[1] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"exit": {}},
        {"exit": RESULT["exit"] | {"status": "3"}},
        {"exit": RESULT["exit"] | {"further": 1}},
        {"result": []},
        {"peer": 7},
        {"further": 1},
    ],
)
def test_a_result_of_another_form_is_an_error_of_the_bed(change: dict[str, Any]) -> None:
    """The command may have written it."""
    with pytest.raises(BedError, match="the guest's result cannot be read"):
        guests.read_run(RESULT | change)


@pytest.mark.parametrize("folder", ["/", "/proc/self", "/sys/class", "/dev/mine"])
def test_a_folder_that_no_guest_shares_is_refused(folder: str) -> None:
    """Each guest has its own devices, processes and shared memory."""
    (mistake,) = guests.mistakes(["true"], Path(folder), NO_OPTIONS)
    assert f"a guest cannot write into the working folder {folder}" in str(mistake)
