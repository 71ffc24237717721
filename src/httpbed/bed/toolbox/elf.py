"""What a program file says of itself: its loader, the libraries that it needs, where they are.

The file may be hostile. It is read and never executed; nothing in it is followed beyond its end,
and counts and lengths have bounds that no linker exceeds. pyelftools knows the format's fields
(System V ABI, "Object Files" and "Program Loading and Dynamic Linking"). Its own traversals are not
used, because they trust the file's counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile

from httpbed.base import user_file
from httpbed.base.user_file import NotAFileError

_MAGIC = b"\x7fELF"
MAX_BYTES = 4 * 2**30
"""Largest size of a program or library; Chromium with all symbols has 2 GB."""
_MAX_SEGMENTS = 256
_MAX_ENTRIES = 4096
"""Most entries of the dynamic section, of which each needed library takes one."""
_MAX_NAME = 2**15
"""Most bytes of a name, or of a list of folders."""
_STRINGS = ("DT_NEEDED", "DT_RPATH", "DT_RUNPATH", "DT_AUDIT", "DT_DEPAUDIT")


class DamagedError(ValueError):
    """It is no program or library, or a damaged one; the message continues its name."""


@dataclass(frozen=True)
class Elf:
    """A program or a shared library."""

    processor: tuple[str, str, str]
    """Class, byte order and machine."""
    loader: str | None
    """Path of its dynamic loader (PT_INTERP); None for a static program, and for libraries."""
    needed: tuple[str, ...] = ()
    """The libraries that it needs, in order."""
    rpath: tuple[str, ...] = ()
    """Folders that are searched first, also for the libraries of its libraries."""
    runpath: tuple[str, ...] = ()
    """Folders that are searched for what it needs itself."""
    auditors: tuple[str, ...] = ()
    """Libraries that it asks the loader to run before it (DT_AUDIT, DT_DEPAUDIT)."""


def is_program(path: Path) -> bool:
    """Whether a file is an ELF program rather than a script."""
    try:
        with user_file.opened(path) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except NotAFileError:
        return False


@cache
def this_processor() -> tuple[str, str, str]:
    """Return the processor of this Python, for which programs of this machine must be."""
    return read(Path("/proc/self/exe")).processor


def read(path: Path) -> Elf:
    """Read a program or library.

    Raises:
        DamagedError: It is neither, or damaged.
        OSError: It is missing or unreadable.
    """
    try:
        with user_file.opened(path) as file:
            return _read(file)
    except (DamagedError, OSError, MemoryError):
        raise
    except NotAFileError as error:
        raise DamagedError(str(error)) from None
    except Exception as error:  # noqa: BLE001 - the library has no closed list of exceptions
        raise DamagedError(f"is a damaged program file ({type(error).__name__})") from None


def _read(file: IO[bytes]) -> Elf:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise DamagedError(f"is larger than {MAX_BYTES / 2**30:.0f} GiB")
    try:
        elf = ELFFile(file)
    except (ELFError, UnicodeDecodeError):
        raise DamagedError("is no program file, or a damaged one") from None
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
        raise DamagedError("is neither a program nor a shared library")
    segments = [*_table(elf, "Elf_Phdr", elf["e_phoff"], _segments(elf), size)]
    loader, dynamic = (_only(segments, kind, size) for kind in ("PT_INTERP", "PT_DYNAMIC"))
    values = _dynamic_values(elf, dynamic, segments, size) if dynamic else {}
    return Elf(
        processor=(str(elf.elfclass), str(elf.little_endian), str(elf["e_machine"])),
        loader=_string(file, loader["p_offset"], size) if loader else None,
        needed=tuple(values.get("DT_NEEDED", ())),
        rpath=_folders(values.get("DT_RPATH", [])),
        runpath=_folders(values.get("DT_RUNPATH", [])),
        auditors=(*values.get("DT_AUDIT", ()), *values.get("DT_DEPAUDIT", ())),
    )


def _segments(elf: ELFFile) -> int:
    count = int(elf["e_phnum"])
    if count > _MAX_SEGMENTS:
        raise DamagedError(f"has more than {_MAX_SEGMENTS} segments")
    return count


def _table(elf: ELFFile, kind: str, offset: int, count: int, size: int) -> list[Any]:
    """Read a table's entries, all of which are inside the file."""
    entry = getattr(elf.structs, kind)
    if offset + count * entry.sizeof() > size:
        raise DamagedError("is damaged: a table leads beyond its end")
    return [struct_parse(entry, elf.stream, offset + n * entry.sizeof()) for n in range(count)]


def _only(segments: list[Any], kind: str, size: int) -> Any:
    """Return the segment of a kind, of which a linker makes one at most; None if there is none."""
    several = [one for one in segments if one["p_type"] == kind]
    if len(several) > 1:
        raise DamagedError(f"is damaged: it has several segments {kind}")
    if several and several[0]["p_offset"] + several[0]["p_filesz"] > size:
        raise DamagedError(f"is damaged: its {kind} leads beyond its end")
    return several[0] if several else None


def _dynamic_values(
    elf: ELFFile, dynamic: Any, segments: list[Any], size: int
) -> dict[str, list[str]]:
    """Return the strings of the dynamic section, by their tags."""
    count = dynamic["p_filesz"] // elf.structs.Elf_Dyn.sizeof()
    if count > _MAX_ENTRIES:
        raise DamagedError(f"has more than {_MAX_ENTRIES} entries in its dynamic section")
    entries = _table(elf, "Elf_Dyn", dynamic["p_offset"], count, size)
    end = next((n for n, one in enumerate(entries) if one["d_tag"] == "DT_NULL"), count)
    stated = [(one["d_tag"], one["d_val"]) for one in entries[:end]]
    strings = [value for tag, value in stated if tag == "DT_STRTAB"]
    values: dict[str, list[str]] = {}
    for tag, value in stated:
        if tag in _STRINGS:
            offset = _offset(segments, strings[-1] if strings else -1) + value
            values.setdefault(tag, []).append(_string(elf.stream, offset, size))
    return values


def _offset(segments: list[Any], address: int) -> int:
    """Return where in the file an address of the loaded program is."""
    for one in segments:
        inside = address - one["p_vaddr"]
        if one["p_type"] == "PT_LOAD" and 0 <= inside < one["p_filesz"]:
            return int(one["p_offset"] + inside)
    raise DamagedError("is damaged: it has no table of names")


def _string(file: IO[bytes], offset: int, size: int) -> str:
    if not 0 <= offset < size:
        raise DamagedError("is damaged: a name leads beyond its end")
    file.seek(offset)
    name, end, _ = file.read(_MAX_NAME).partition(b"\0")
    if not end:
        raise DamagedError(f"is damaged: a name has no end within {_MAX_NAME} bytes")
    text = name.decode(errors="replace")
    if not text.isprintable() or "\N{REPLACEMENT CHARACTER}" in text:
        raise DamagedError("is damaged: a name is no text")
    return text


def _folders(lists: list[str]) -> tuple[str, ...]:
    return tuple(one for text in lists for one in text.split(":") if one)
