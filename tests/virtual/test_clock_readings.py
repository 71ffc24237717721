"""The clock of a guest, which programs read without a system call."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from pathlib import Path

import pytest

from guest_trials import planted, printed

STEP_NS, TICK_NS, SPIN_NS = 256, 1_000_000, 50_000_000
FINE_CLOCKS = (
    time.CLOCK_MONOTONIC,
    time.CLOCK_MONOTONIC_RAW,
    time.CLOCK_REALTIME,
    time.CLOCK_BOOTTIME,
)
READINGS = """
import time
at = [time.{clock}() for _ in range(20000)]
print(*(b - a for a, b in zip(at, at[1:])))
"""
SPIN = f"""
import time
end, loops = time.monotonic_ns() + {SPIN_NS}, 0
while time.monotonic_ns() < end: loops += 1
print(loops)
"""
CALLED = """
import ctypes, time
libc, told = ctypes.CDLL(None), (ctypes.c_long * 2)()
def called(clock):
    libc.syscall(228, clock, told)
    return told[0] * 10**9 + told[1]
"""
"""Reads a clock by the system call."""
CLOCKS = f"""{CALLED}
for clock in {FINE_CLOCKS}:
    time.sleep(0.0101)
    print(*(read(clock) for _ in range(9) for read in (time.clock_gettime_ns, called)))
for coarse in (5, 6):
    time.sleep(0.0101)
    print(time.clock_gettime_ns(coarse), called(coarse))
"""
"""Reads each clock by turns without a system call and with one; the coarse ones once."""
FORGE = f"""{CALLED}
import re
(line,) = (line for line in open('/proc/self/maps') if '[vdso]' in line)
code = ctypes.string_at(int(line.split('-')[0], 16), 4096)
moves = re.findall(b'[\\x48\\x49][\\xb8-\\xbf](........)', code, re.S)
numbers = set(int.from_bytes(move, 'little') for move in moves)
(address,) = (number for number in numbers if 2**46 < number < 2**47)
clock = (ctypes.c_uint64 * 8).from_address(address)
before = called(time.CLOCK_MONOTONIC)
clock[0], clock[1], clock[2] = 2**40, 2**62, 0
after = called(time.CLOCK_MONOTONIC)
print(after - before, time.monotonic_ns() - after)
"""
"""Tells the kernel of 2^40 readings, and the program's own clock that no time has passed."""


@pytest.mark.parametrize("clock", ["monotonic_ns", "time_ns"])
def test_each_reading_takes_the_same_time(tmp_path: Path, clock: str) -> None:
    """A tick of the kernel's clock or another program between two takes whole readings, too."""
    client = planted(tmp_path, READINGS.format(clock=clock))
    steps = [int(step) for step in printed(client, tmp_path / "campaign").split()]
    assert all(step % STEP_NS == 0 for step in steps)
    assert min(steps) == statistics.median(steps) == STEP_NS


def test_a_loop_that_only_reads_the_clock_gets_to_its_end(tmp_path: Path) -> None:
    """It makes one reading each 256 ns, less those that the kernel makes at ticks."""
    loops = int(printed(planted(tmp_path, SPIN), tmp_path / "campaign"))
    assert 0.99 < loops * STEP_NS / SPIN_NS <= 1


def test_a_loop_that_waits_for_the_next_second_gets_to_its_end(tmp_path: Path) -> None:
    """The clock of whole seconds only moves with the ticks, and each look at it takes time."""
    script = "import time, ctypes; read = ctypes.CDLL(None).time; began = read(None)\n"
    script += "while read(None) == began: pass\nprint(1)"
    assert printed(planted(tmp_path, script), tmp_path / "campaign") == "1\n"


def test_the_clocks_without_system_calls_are_the_kernel_s(tmp_path: Path) -> None:
    """Readings by turns grow by whole readings; coarse clocks stand still between ticks."""
    lines = printed(planted(tmp_path, CLOCKS), tmp_path / "campaign").splitlines()
    *clocks, real, monotonic = ([int(at) for at in line.split()] for line in lines)
    steps = [b - a for readings in clocks for a, b in pairwise(readings)]
    assert set(steps) == {STEP_NS}
    assert len(steps) == len(FINE_CLOCKS) * 17
    assert monotonic[0] == monotonic[1] < real[0] == real[1]


def test_a_program_that_forges_its_clock_moves_the_guest_s_to_the_next_tick(
    tmp_path: Path,
) -> None:
    """At most, as if it had read the clock so often; its own clock is right again at once."""
    passed, ahead = map(int, printed(planted(tmp_path, FORGE), tmp_path / "campaign").split())
    assert 0 < passed <= TICK_NS + STEP_NS
    assert 0 < ahead <= TICK_NS
