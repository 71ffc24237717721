"""What a program file says of itself, and the shared libraries that it loads at its start.

Nothing is executed. A program's file names the dynamic loader, which is a program itself: listing
libraries with ``ldd`` runs whatever a stranger's file names. So the files are read, the program's
first. Each may be hostile: nothing in it is followed beyond its end, and counts and lengths have
bounds that no linker exceeds. pyelftools knows the format's fields (System V ABI, "Object Files"
and "Program Loading and Dynamic Linking"). Its own traversals are not used, because they trust the
file's counts.

Folders are searched for libraries in the order of ld.so(8):

1. DT_RPATH of the library that needs it, and of those that led to it, if they have no DT_RUNPATH
2. ``LD_LIBRARY_PATH``
3. DT_RUNPATH of the library that needs it
4. the folders of ``/etc/ld.so.conf``, then the loader's own

Variants for newer processors (``glibc-hwcaps``) are not searched: a program sees in its sandbox
what is listed here, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from httpbed.base import user_file
from httpbed.base.errors import HostError
from httpbed.base.user_file import NotAFileError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_MAGIC = b"\x7fELF"
MAX_BYTES = 4 * 2**30
"""Largest size of a program or library; Chromium with all symbols has 2 GB."""
_MAX_SEGMENTS = 256
_MAX_ENTRIES = 4096
"""Most entries of the dynamic section; each needed library takes one."""
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
    # 48 modules, and most runs have no program of the user's.
    from elftools.common.exceptions import ELFError  # noqa: PLC0415
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

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
        rpath=_split_folders(values.get("DT_RPATH", [])),
        runpath=_split_folders(values.get("DT_RUNPATH", [])),
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
    elf.stream.seek(offset)
    return [entry.parse_stream(elf.stream) for _ in range(count)]


def _only(segments: list[Any], kind: str, size: int) -> Any:
    """Return the segment of a kind, None without one; a linker makes one at most."""
    several = [segment for segment in segments if segment["p_type"] == kind]
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
    stated = [(entry["d_tag"], entry["d_val"]) for entry in entries[:end]]
    strings = [value for tag, value in stated if tag == "DT_STRTAB"]
    values: dict[str, list[str]] = {}
    for tag, value in stated:
        if tag in _STRINGS:
            offset = _file_offset(segments, strings[-1] if strings else -1) + value
            values.setdefault(tag, []).append(_string(elf.stream, offset, size))
    return values


def _file_offset(segments: list[Any], address: int) -> int:
    """Return where in the file an address of the loaded program is."""
    for segment in segments:
        inside = address - segment["p_vaddr"]
        if segment["p_type"] == "PT_LOAD" and 0 <= inside < segment["p_filesz"]:
            return int(segment["p_offset"] + inside)
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


def _split_folders(lists: list[str]) -> tuple[str, ...]:
    return tuple(one for text in lists for one in text.split(":") if one)


_LOADER = re.compile(r"(?:/usr)?/lib\w*/(?:[\w-]+/)?ld(?:-linux|-musl|64)?[\w-]*\.so\.\d+")
"""Matches where each platform's conventions put its loaders."""
_STORES = ("/nix/store/", "/gnu/store/")
"""Nix and Guix keep each library in a folder of its own, and name the loader there."""
_SYSTEM = re.compile(r"/(?:usr/)?lib\w*/|/(?:nix|gnu)/store/")
_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)\b)")
_CONFIGURATION = Path("/etc/ld.so.conf")
_DEFAULTS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MAX_CONFIGURATION, _DEEPEST = 2**16, 8
_MAX_LIBRARIES = 4096
_MAX_FOLDERS = 512
"""Most folders that the libraries of one program name."""
_MAX_LOOKS = 10**6
"""Most files that are looked for: a few seconds of one core."""


def loader_refusal(program: Elf) -> str | None:
    """Return why a program is refused for what it asks of the loader; None if it is not.

    A loader, or an auditor of the loader, runs before the program and can change all that the
    program does. In a sandbox neither reaches more than the program itself. But another program
    would be measured than the one that is named.
    """
    if program.loader is not None and not _is_of_the_system(program.loader):
        return f"names a dynamic loader of its own, {program.loader}"
    if program.auditors:
        return f"asks the dynamic loader to run {program.auditors[0]} first (DT_AUDIT, DT_DEPAUDIT)"
    return None


def _is_of_the_system(loader: str) -> bool:
    """Whether a loader is where the system installs it, also after resolving links."""
    usual = _LOADER.fullmatch(loader) or loader.startswith(_STORES)
    real = os.path.realpath(loader)
    return bool(usual) and ".." not in loader.split("/") and bool(_SYSTEM.match(real))


@dataclass(frozen=True)
class _Needing:
    """A program or library whose libraries are searched."""

    folder: Path
    file: Elf
    before: tuple[Path, ...]
    """Folders of DT_RPATH of those that led to it."""

    def rpath(self) -> tuple[Path, ...]:
        """Return the folders of DT_RPATH that it and its libraries are searched in."""
        return (*_expanded(self.file.rpath, self.folder), *self.before)


class _Search:
    def __init__(self, program: Path, loader: Path, processor: tuple[str, str, str]) -> None:
        self.program = program
        self.processor = processor
        self.usual = tuple(_usual_folders(loader))
        self.environment = tuple(_of_the_environment())
        self.looks = 0
        self._named = set[Path]()

    def find(self, name: str, needing: _Needing) -> tuple[Path, Elf]:
        """Return a library's path and what it says of itself."""
        for file in self._places(name, needing):
            self.looks += 1
            if self.looks > _MAX_LOOKS:
                raise self.too_many(f"more than {_MAX_LOOKS} files to be looked for")
            if not file.is_file():
                continue
            try:
                library = read(file)
            except DamagedError as error:
                raise self._mistake(f"{file}, which {error}") from None
            except OSError as error:
                raise self._mistake(f"{file}, which cannot be read ({error.strerror})") from None
            if library.processor == self.processor:  # the loader skips others, too
                return file, library
        raise self._mistake(f"{name}, which this machine does not have")

    def _places(self, name: str, needing: _Needing) -> Iterator[Path]:
        if "/" in name:
            yield from _expanded((name,), needing.folder)
            return
        runpath = _expanded(needing.file.runpath, needing.folder)
        first = () if needing.file.runpath else needing.rpath()
        self._named.update(first, runpath)
        if len(self._named) > _MAX_FOLDERS:
            raise self.too_many(f"more than {_MAX_FOLDERS} folders of libraries")
        folders = (*first, *self.environment, *runpath, *self.usual)
        yield from (folder / name for folder in dict.fromkeys(folders))

    def _mistake(self, what: str) -> HostError:
        return HostError(
            f"{self.program} needs {what}",
            "install it, set LD_LIBRARY_PATH to its folder, or link the program statically",
        )

    def too_many(self, what: str) -> HostError:
        return HostError(f"{self.program} names {what}", "link the program statically")


def libraries(program: Path) -> dict[str, Path]:
    """Return the loader and the libraries that a program of this machine loads at its start.

    Each has the name by which it is needed: the loader its path, a library its file name.

    Raises:
        HostError: One of them is missing or damaged.
    """
    try:
        first = read(program)
    except DamagedError as error:
        raise HostError(f"{program} {error}", "name another program") from None
    except OSError as error:
        reason = f"{program} cannot be read: {error.strerror}"
        raise HostError(reason, "name another program") from None
    if first.loader is None:
        return {}
    loader = Path(first.loader)
    search = _Search(program, loader, first.processor)
    if not loader.is_file():
        raise HostError(
            f"{program} needs {loader}, which this machine does not have",
            "install it, or link the program statically",
        )
    paths = {str(loader): loader}
    todo = deque([_Needing(program.resolve().parent, first, ())])
    while todo:
        needing = todo.popleft()
        for name in needing.file.needed:
            if name in paths or Path(name).name == loader.name:
                continue
            path, library = search.find(name, needing)
            paths[name] = path
            before = () if needing.file.runpath else needing.rpath()
            todo.append(_Needing(path.resolve().parent, library, before))
            if len(paths) > _MAX_LIBRARIES:
                raise search.too_many(f"more than {_MAX_LIBRARIES} libraries")
    return paths


def _expanded(folders: tuple[str, ...], origin: Path) -> tuple[Path, ...]:
    """Return absolute folders with the loader's variables replaced.

    A relative folder is relative to wherever the program runs, which is nowhere in particular.
    """
    absolute = list[Path]()
    for text in folders:
        for lib in _lib() if "LIB" in text else ("",):
            values = {"ORIGIN": str(origin), "LIB": lib, "PLATFORM": os.uname().machine}
            path = _TOKEN.sub(lambda match: values[match[1] or match[2]], text)  # noqa: B023 - used at once
            if path.startswith("/"):
                absolute.append(Path(os.path.normpath(path)))
    return tuple(absolute)


@cache
def _lib() -> tuple[str, ...]:
    """Return what ``$LIB`` may be: distributions build the loader with one of these."""
    machine = os.uname().machine
    return (f"lib/{machine}-linux-gnu", "lib64", "lib")


def _of_the_environment() -> Iterator[Path]:
    stated = os.environ.get("LD_LIBRARY_PATH", "")
    yield from (Path(one).absolute() for one in re.split("[:;]", stated) if one)


def _usual_folders(loader: Path) -> Iterator[Path]:
    """Yield the folders of the system's libraries; a store's loader knows only its own."""
    loader_folder = loader.resolve().parent
    if str(loader_folder).startswith(_STORES):
        yield loader_folder
        return
    if "-musl" in loader.name:
        stated = _text(Path(f"/etc/{loader.name.partition('.')[0]}.path"))
        yield from map(Path, re.split("[:\n]+", stated.strip() or "/lib:/usr/local/lib:/usr/lib"))
        return
    yield from _configured(_CONFIGURATION, 0)
    yield loader_folder
    yield from map(Path, _DEFAULTS)


def _configured(file: Path, depth: int) -> Iterator[Path]:
    """Yield the folders of ld.so.conf and of the files that it includes, in ldconfig's order."""
    for line in _text(file).splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and depth < _DEEPEST:
            for pattern in words[1:]:
                within = Path(pattern) if pattern.startswith("/") else file.parent / pattern
                for path in sorted(Path("/").glob(str(within).lstrip("/"))):
                    yield from _configured(path, depth + 1)
        elif words and words[0].startswith("/"):
            yield Path(words[0])


def _text(file: Path) -> str:
    try:
        return user_file.read(file, _MAX_CONFIGURATION).decode(errors="replace")
    except (OSError, user_file.NotAFileError):
        return ""
