"""Programs that would hang, mislead or crash a guest: each attempt says what happened."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from guest_trials import planted, printed
from httpbed.addons.virtual import job, outside

TIME_STAMP = (
    "import ctypes, mmap, time;"
    " code = mmap.mmap(-1, 4096, prot=7);"
    " code.write(bytes.fromhex('0f3148c1e2204809d0c3'));"  # rdtsc; shl rdx, 32; or rax, rdx; ret
    " read = ctypes.CFUNCTYPE(ctypes.c_uint64)("
    "ctypes.addressof(ctypes.c_char.from_buffer(code)));"
    " before = read(); time.sleep(10); print(before, read() - before)"
)
"""Prints the processor's time stamp counter, and by how much it grows in ten seconds."""

MAPPINGS = 80_000
MANY_MAPPINGS = f"""
import mmap
memory = mmap.mmap(-1, {MAPPINGS} * 8192)
for place in range({MAPPINGS}):
    memory[place * 8192 : place * 8192 + 4] = place.to_bytes(4, 'little')
read = (memory[place * 8192 : place * 8192 + 4] for place in range({MAPPINGS}))
kept = all(int.from_bytes(one, 'little') == place for place, one in enumerate(read))
print('kept' if kept else 'lost')
"""


def test_a_program_that_computes_without_end_is_ended_by_the_watchdog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops the guest's clock, and with it the time limit of the trial."""
    monkeypatch.setattr(outside, "MIN_LIMIT_S", 30.0)
    monkeypatch.setattr(outside, "LIMIT_PER_S", 0.0)
    (record,) = planted(tmp_path, "while True: pass").run(tmp_path / "campaign", retries=0)
    assert record.attempt.outcome.kind == "invalid"
    assert "the guest did not end within 30 s" in record.attempt.outcome.reason


def test_a_program_that_sleeps_for_a_year_times_out_at_once(tmp_path: Path) -> None:
    """The time limit is in virtual time, in which nothing is waited for."""
    script = "import time; time.sleep(31536000)"
    (record,) = planted(tmp_path, script).run(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "timed out"


def test_a_program_that_reads_the_processor_s_counter_reads_virtual_time(tmp_path: Path) -> None:
    """A nanosecond is a tick, and a second attempt reads the same numbers."""
    client = planted(tmp_path, TIME_STAMP)
    read = [printed(client, tmp_path / name) for name in ("once", "again")]
    assert read[0] == read[1]
    before, passed = map(int, read[0].split())
    assert before > 10**9
    assert 10 * 10**9 <= passed < 10.01 * 10**9


def test_a_program_that_takes_more_memory_than_the_guest_has_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its failure is data, as in real time."""
    monkeypatch.setattr(outside, "MEMORY_BYTES", 2**29)
    script = "kept = [b'1' * 2**20 for _ in range(1000)]"
    (record,) = planted(tmp_path, script).run(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "failed"
    assert "for lack of memory" in record.attempt.outcome.reason


def test_a_program_with_more_mappings_than_this_machine_allows_keeps_its_memory(
    tmp_path: Path,
) -> None:
    """Each page between two gaps is a mapping of a process of this machine: by default 65,530."""
    assert printed(planted(tmp_path, MANY_MAPPINGS), tmp_path / "campaign") == "kept\n"


def test_a_guest_whose_first_process_dies_is_an_invalid_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel panics, and the reason quotes it."""
    monkeypatch.setattr(outside, "inside", SimpleNamespace(__name__="httpbed.no_such_module"))
    (record,) = planted(tmp_path, "").run(tmp_path / "campaign", retries=0)
    assert record.attempt.outcome.kind == "invalid"
    assert "the guest ended with signal" in record.attempt.outcome.reason
    assert "No module named" in record.attempt.outcome.reason
    assert "panic" in record.attempt.outcome.reason


def test_an_error_of_httpbed_in_a_guest_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work that is handed over is damaged."""
    client = planted(tmp_path, "")
    monkeypatch.setattr(job, "write_work", lambda shared, _: (shared / "work.pickle").touch())
    (record,) = client.run(tmp_path / "campaign", retries=0)
    assert record.attempt.outcome.kind == "invalid"
    assert record.attempt.outcome.reason.startswith("httpbed failed in the guest: EOFError:")


def test_a_guest_that_powers_off_at_once_is_an_invalid_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that a guest did not leave is made up."""
    monkeypatch.setattr(outside, "inside", SimpleNamespace(__name__="guest_that_powers_off"))
    (record,) = planted(tmp_path, "").run(tmp_path / "campaign", retries=0)
    assert record.attempt.outcome.kind == "invalid"
    assert record.attempt.outcome.reason == "the guest powered off without a result"
