"""A damaged or hostile program file gives one plain mistake, within bounds of time and memory."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linking
from httpbed.bed.toolbox import elf
from httpbed.bed.toolbox.elf import DamagedError

SIZE, SEGMENT, ENTRY = 64, 56, 16
"""Bytes of a header, a program header and an entry of a dynamic section, in 64 bits."""
LOAD, DYNAMIC, INTERP = 1, 2, 3
NEEDED, STRTAB, AUDIT = 1, 5, 0x6FFFFEFC
MAX_MEMORY = 2**22


def file_of(
    segments: list[tuple[int, int, int]], content: bytes, *, count: int | None = None
) -> bytes:
    """Make a program of segments (kind, offset, length), and of what follows their table."""
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    number = len(segments) if count is None else count
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, SIZE, 2**63, 0, SIZE, SEGMENT, number, 64, 0, 9
    )
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, 0, offset, offset, 0, length, length, 1)
        for kind, offset, length in segments
    )
    return header + table + content


def dynamic(entries: list[tuple[int, int]], names: bytes) -> bytes:
    """Make a program with one dynamic section, and the names that it uses."""
    start = SIZE + 2 * SEGMENT
    table = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    strings = start + len(table) + 2 * ENTRY
    table += struct.pack("<QQQQ", STRTAB, strings, 0, 0)
    whole = strings + len(names)
    return file_of([(LOAD, 0, whole), (DYNAMIC, start, len(table))], table + names)


HOSTILE = {
    "nothing": b"",
    "a magic number": b"\x7fELF",
    "half a header": b"\x7fELF\x02\x01\x01" + bytes(20),
    "no class": b"\x7fELF\x09\x09\x09" + bytes(90),
    "a table beyond the end": file_of([], b"", count=200),
    "very many segments": file_of([(LOAD, 0, 1)] * 300, b""),
    "an extended count": file_of([], b"", count=0xFFFF),
    "several loaders": file_of([(INTERP, 0, 9)] * 2, b"/lib/ld\0"),
    "a loader beyond the end": file_of([(INTERP, 2**62, 9)], b""),
    "a loader without an end": file_of([(INTERP, SIZE + SEGMENT, 2**16)], b"/" * 2**16),
    "a loader that is no text": file_of([(INTERP, SIZE + SEGMENT, 9)], b"\x1b[31m\xff\xfe\0\0"),
    "a dynamic section beyond the end": file_of([(DYNAMIC, 200, 2**63)], b""),
    "very many entries": dynamic([(NEEDED, 0)] * 5000, b"x\0"),
    "a name beyond the end": dynamic([(NEEDED, 2**40)], b"x\0"),
    "a name before the beginning": dynamic([(NEEDED, 2**64 - 4)], b"x\0"),
    "a name without an end": dynamic([(NEEDED, 0)], b"x" * 2**17),
    "names without a table": file_of(
        [(DYNAMIC, SIZE + SEGMENT, ENTRY)], struct.pack("<QQ", NEEDED, 0)
    ),
}


def read(file: Path, content: bytes) -> elf.Elf:
    """Read a program with this content; it must take little memory."""
    file.write_bytes(content)
    tracemalloc.start()
    try:
        return elf.read(file)
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < MAX_MEMORY


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_mistake(tmp_path: Path, name: str) -> None:
    """Its reason is a sentence that goes on after the file's name."""
    with pytest.raises(DamagedError) as caught:
        read(tmp_path / "p", HOSTILE[name])
    assert str(caught.value).startswith(("is ", "has "))


def test_names_of_an_honest_file_are_read(tmp_path: Path) -> None:
    """The same maker makes a file whose names are found."""
    found = read(tmp_path / "p", dynamic([(NEEDED, 0), (AUDIT, 2)], b"x\0/a\0"))
    assert found.needed == ("x",)
    assert found.auditors == ("/a",)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    """A hole costs nothing to make, and hours to digest."""
    with (tmp_path / "p").open("wb") as file:
        file.write(dynamic([(NEEDED, 0)], b"x\0"))
        file.truncate(10**13)
    with pytest.raises(DamagedError, match="larger than"):
        elf.read(tmp_path / "p")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a real program."""
    return linking.linked(tmp_path_factory.mktemp("real") / "p", linking.NOTHING).read_bytes()


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_damage_makes_another_error(data: st.DataObject, honest: bytes, tmp_path: Path) -> None:
    """Bytes of the tables are changed, and the end is cut off."""
    content = bytearray(honest)
    sections = range(int.from_bytes(honest[40:48], "little"), len(honest))
    tables = st.integers(0, 1024) | st.sampled_from(sections)
    for place in data.draw(st.lists(tables, max_size=12)):
        content[place] = data.draw(st.sampled_from([0, 1, 2, 127, 128, 255]))
    length = data.draw(st.sampled_from([0, 4, 63, 64, 500, 4000, len(content)]))
    with contextlib.suppress(DamagedError):
        read(tmp_path / "p", bytes(content[:length]))
