"""The command ``httpbed``: its verbs, and one place where failures become exit codes."""

from __future__ import annotations

import errno
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import click

from httpbed.cli.echo import echo
from httpbed.cli.signals import Endings
from httpbed.cli.verb_table import Verbs
from httpbed.experiment.errors import BedError, ConfigError, HostError
from httpbed.host import folders, unprivileged

EXIT_USAGE, EXIT_HOST, EXIT_PIPE = 2, 3, 141
NOT_WRITABLE = 0o022
"""Group and others write to no file of ours, whatever the user's file mode mask."""
OUT_OF_MEMORY = ("failed to map segment", "can't start new thread", "Out of Memory Error")
"""What the loader of shared libraries, threads and DuckDB say where memory ends."""
LEAST_MEMORY_BYTES = 2**30
"""Of address space: with less, OpenBLAS and DuckDB end the process, or wait for ever."""
WRONG_PATHS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
    | {errno.ELOOP, errno.EEXIST, errno.ENXIO}
)
"""Refused because of what the user wrote, not of what the machine lacks."""
PLACE_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENOSPC)


@click.group(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="httpbed")
def cli() -> None:
    """Measure HTTP/1.1, HTTP/2 and HTTP/3 with real programs over emulated links.

    Begin with `httpbed demo`, then copy an experiment file, edit it, and `httpbed run` it.

    Exit codes: 0 every trial has an outcome; 1 invalid trials remain; 2 usage or configuration;
    3 this machine cannot; 130 interrupted, 143 ended by SIGTERM, 129 by SIGHUP.
    """


def main() -> None:
    """Run the command line and leave with the exit code that says whose fault it was."""
    endings = Endings()
    with endings.heeded():
        code = _run(endings)
    sys.exit(code)


def _run(endings: Endings) -> int:
    if sys.argv[1:2] != ["link"]:  # whose command keeps the user's
        given = os.umask(NOT_WRITABLE)
        if not unprivileged.is_machines_root():  # whose programs under test are another user's
            os.umask(given | NOT_WRITABLE)
    try:
        _require_room()
        # Else matplotlib keeps its font cache in a folder of the user's that is not ours.
        os.environ.setdefault("MPLCONFIGDIR", str(folders.cache() / "matplotlib"))
        code = cli.main(standalone_mode=False)
    except SystemExit:  # click's way out when nobody reads on
        code = EXIT_PIPE
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = _ended(endings)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except OSError as error:
        gone = endings.received and error.errno == errno.EIO  # click tells a terminal of its end
        code = _ended(endings) if gone else _operating_system(error)
    except Exception as error:  # noqa: BLE001 - what is not foreseen is raised again
        code = _foreseen(error)
    return code or 0


def _ended(endings: Endings) -> int:
    kept = "; what was finished is kept, and the same command resumes it"
    with suppress(OSError):  # after SIGHUP the terminal may be gone
        _complain(str(endings) + ("" if sys.argv[1:2] == ["link"] else kept))
    return endings.exit_code


def _require_room() -> None:
    """Refuse a limit of memory at which libraries fail without an exception."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < LEAST_MEMORY_BYTES:
        raise MemoryError
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread would reserve 32 MB


def _foreseen(error: Exception) -> int:
    """Explain a failure that is not a mistake of ours, which keeps its traceback."""
    if isinstance(error, ConfigError):
        for mistake in error.mistakes:
            _complain(str(mistake))
        return EXIT_USAGE
    if isinstance(error, HostError):
        _complain(f"{error.reason}\n  remedy: {error.remedy}")
    elif isinstance(error, BedError):  # outside a trial, where no attempt is there to be invalid
        _complain(f"{error}\n  remedy: try again; httpbed doctor says what this machine can do")
    elif _is_out_of_memory(error):
        _complain(
            "there is not enough memory\n  remedy: raise the limit (ulimit -v unlimited), free"
            " some memory, or run fewer trials at once with --jobs"
        )
    else:
        raise error
    return EXIT_HOST


def _is_out_of_memory(error: Exception) -> bool:
    """Tell it by Python's exception, or by the words of a library that has none of its own."""
    return isinstance(error, MemoryError) or any(one in str(error) for one in OUT_OF_MEMORY)


def _operating_system(error: OSError) -> int:
    """Explain what the machine refused; a mistake of ours keeps its traceback."""
    remedies = {
        errno.ENOSPC: "free some space; what was finished is kept, and the same command resumes",
        errno.EDQUOT: "free some of your quota; the same command resumes",
        errno.EACCES: "choose a folder that this user may write to with -o",
        errno.EPERM: "choose a folder that this user may write to with -o",
        errno.ENOENT: "choose another folder with -o",
        errno.ENOTDIR: "choose a folder below folders with -o",
        errno.EISDIR: "name a file, not a folder",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ELOOP: "name a file or folder, not a link to one that is not there",
        errno.EEXIST: "choose another name, or move away what has this one",
        errno.ENXIO: "name a regular file, not a pipe or a socket",
        errno.EFBIG: "raise the limit of a file's size: ulimit -f unlimited",
        errno.EROFS: "choose a folder on a writable filesystem with -o",
        errno.EMFILE: "raise the number of open files: ulimit -n 4096",
        errno.ENOMEM: "free some memory, or run fewer trials at once with --jobs",
    }
    if error.errno not in remedies:
        raise error
    if _concerns_cache(error):
        remedies |= dict.fromkeys(
            PLACE_REFUSED, "set HTTPBED_CACHE to a folder with room and rights"
        )
    place = f" ({error.filename})" if error.filename else ""
    _complain(f"{error.strerror}{place}\n  remedy: {remedies[error.errno]}")
    return EXIT_USAGE if error.errno in WRONG_PATHS else EXIT_HOST


def _concerns_cache(error: OSError) -> bool:
    """Tell whether something in the cache was refused, or a folder on the way to it."""
    place, folder = Path(str(error.filename)), folders.cache()
    return place.is_relative_to(folder) or folder.is_relative_to(place)


def _complain(text: str) -> None:
    echo(f"httpbed: {text}", err=True)
