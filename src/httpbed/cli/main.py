"""The command ``httpbed``: its verbs, and the conversion of failures to exit codes."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import get_args

import click

from httpbed.base import folders
from httpbed.base.addon import Group, Verb, addons, missing_addon, refuse_duplicates
from httpbed.base.errors import BedError, ConfigError, HostError, Mistake
from httpbed.bed.machine import unprivileged
from httpbed.cli.echo import echo
from httpbed.cli.verb import EXIT_HOST, EXIT_USAGE, VerbGroup, command_of, no_verb, of_url

CORE_VERBS = (
    Verb("demo", "Compare HTTP versions and congestion controls in a minute.", "run", "demo"),
    Verb("run", "Run an experiment, or resume its campaign.", "run", "run"),
    Verb("plan", "Show what a run would do, without doing it.", "run", "plan"),
    Verb(
        "validate", "List all mistakes in an experiment file; print its schema.", "run", "validate"
    ),
    Verb(
        "report", "Print a campaign's results; write its HTML report and figures.", "read", "report"
    ),
    Verb(
        "export",
        "Write campaigns as a table, a dataset, an archive or HAR files.",
        "read",
        "export",
    ),
    Verb("doctor", "Test what this machine can do, point by point.", "set up", "doctor"),
    Verb(
        "toolbox",
        "List the programs that an experiment can name; build and check them.",
        "set up",
        "toolbox",
    ),
)
GONE: Mapping[str, str] = {
    "advise": "use httpbed export --dataset, and the query in docs/guides/dataset.md",
    "calibrate": "use httpbed doctor calibrate",
    "capacity": "use httpbed doctor audit",
    "audit": "use httpbed doctor audit",
    "import": "use httpbed pages import FILE.har",
    "merge": "use httpbed export --archive -o ARCHIVE",
    "mirror": "use httpbed pages mirror",
    "profiles": "use httpbed toolbox profiles",
    "recipes": "use httpbed toolbox",
    "status": "use httpbed report DIR --status",
    "schema": "use httpbed validate --schema",
}
"""Verbs of earlier versions, and what to use instead."""
HEADINGS: Mapping[Group, str] = {
    "run": "Run",
    "read": "Read results",
    "judge": "Judge results",
    "look inside": "Look inside",
    "set up": "Set up",
}


@cache
def verbs() -> Mapping[str, Verb]:
    """Return the verbs of the core and of the addons by name: group by group."""
    core = [Verb(v.name, v.purpose, v.group, f"httpbed.cli.{v.module}") for v in CORE_VERBS]
    known = core + [
        verb for addon in addons().values() for verb in addon.verbs if " " not in verb.name
    ]
    refuse_duplicates("verbs", [verb.name for verb in known])
    return {verb.name: verb for group in get_args(Group) for verb in known if verb.group == group}


class Verbs(VerbGroup):
    """A group whose commands are in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every verb."""
        del ctx
        return list(verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module and return its command."""
        del ctx
        return command_of(verbs()[cmd_name]) if cmd_name in verbs() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; click would look for similar ones among imported commands only."""
        if args[0] not in verbs() and not args[0].startswith("-") and not ctx.resilient_parsing:
            gone = GONE.get(args[0])
            raise ConfigError(
                [
                    Mistake(args[0], f"is gone from {ctx.command_path}", gone)
                    if gone
                    else no_verb(ctx, args[0], list(verbs()))
                ]
            )
        name, command, words = super().resolve_command(ctx, args)
        registered = of_url(str(name), words)
        return name, command_of(registered) if registered else command, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs by what a person wants to do, without importing any."""
        del ctx
        for group, heading in HEADINGS.items():
            known = [(verb.name, verb.purpose) for verb in verbs().values() if verb.group == group]
            if known:  # a deleted addon may have been the only one of its group
                with formatter.section(heading):
                    formatter.write_dl(known)


STDERR = 2
"""The last of the descriptors that every program expects to be open."""
EXIT_PIPE = 141
EXIT_SIGNALLED = 128
"""Base of the exit code; the signal's number is added, as in shells."""
FULL_BYTES = 2**20
"""Free space below which a filesystem counts as full."""
_HANDLED = (signal.SIGTERM, signal.SIGHUP)
NOT_WRITABLE = 0o022
"""Group and others cannot write our files, whatever the user's umask is."""
OUT_OF_MEMORY = ("failed to map segment", "can't start new thread")
"""Messages of the dynamic loader and of threads when memory runs out."""
MIN_MEMORY_BYTES = 2**30
"""Least address space: with less, OpenBLAS ends the process or hangs."""
WRONG_PATHS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
    | {errno.ELOOP, errno.EEXIST, errno.ENXIO}
)
"""Errors of a path that the user wrote, not of the machine."""
NOT_WRITABLE_PLACES = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors of a place that the user named, unless it is the cache."""
RESUMED: Mapping[str, tuple[str, ...]] = {
    "run": (),
    "compare": (),
    "demo": (),
    "conformance": ("-o", "--output"),
    "gate": ("--scenarios",),
}
"""Verbs whose campaign a later call resumes, if one of the options is given."""
KEPT = "finished work is kept, and the same command resumes"
PLACE_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENOSPC)


@click.group(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="httpbed")
def cli() -> None:
    """Measure HTTP/1.1, HTTP/2 and HTTP/3 with real programs over emulated links.

    Start with `httpbed demo`. Then copy an experiment file, edit it, and run it: `httpbed run`.

    Exit codes: 0 every trial has an outcome; 1 invalid trials remain, or every trial failed;
    2 usage or configuration; 3 this machine cannot; 130 interrupted, 143 ended by SIGTERM, 129 by
    SIGHUP.

    For completion in bash: eval "$(_HTTPBED_COMPLETE=bash_source httpbed)"; in zsh zsh_source; in
    fish: _HTTPBED_COMPLETE=fish_source httpbed | source
    """


def main() -> None:
    """Run the command line and exit with the code of the failure, if any."""
    _open_closed_streams()
    termination = Termination()
    with termination.handled():
        code = _run(termination)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Open the null device in place of a closed stdin, stdout or stderr.

    Otherwise the next file that is opened would take its descriptor, and Python has no stream.
    """
    descriptor = -1
    while descriptor < STDERR:
        descriptor = os.open(os.devnull, os.O_RDWR)
        os.set_inheritable(descriptor, descriptor <= STDERR)
    if descriptor > STDERR:
        os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _run(termination: Termination) -> int:
    if sys.argv[1:2] != ["link"]:  # the command behind a link keeps the user's umask
        users = os.umask(NOT_WRITABLE)
        if not unprivileged.is_machines_root():  # root's trials run as another user, who must read
            os.umask(users | NOT_WRITABLE)
    try:
        _require_memory()
        _set_for_libraries()
        code = cli.main(prog_name="httpbed", standalone_mode=False)
    except SystemExit as ended:  # raised by click after a completion, and without stdout's reader
        code = EXIT_PIPE if ended.code else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = _terminated(termination)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except OSError as error:
        gone = termination.received and error.errno == errno.EIO  # click writes to a lost terminal
        code = _terminated(termination) if gone else _operating_system(error)
    except Exception as error:  # noqa: BLE001 - unexpected ones are raised again
        code = _expected_failure(error)
    return code or 0


def _set_for_libraries() -> None:
    """Set what libraries read when they are imported, unless the user has set it."""
    for name, value in _library_settings().items():
        os.environ.setdefault(name, value)


def remove_library_settings() -> None:
    """Remove these variables, so that a command of the user does not see them."""
    for name, value in _library_settings().items():
        if os.environ.get(name) == value:
            del os.environ[name]


def _library_settings() -> dict[str, str]:
    return {
        # Without this, matplotlib writes its font cache outside httpbed's folders.
        "MPLCONFIGDIR": str(folders.cache() / "matplotlib"),
        # Otherwise pydantic reads the metadata of every installed package to find plugins.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
    }


def _terminated(termination: Termination) -> int:
    with suppress(OSError):  # after SIGHUP the terminal may be gone
        _complain(_with_resumption(str(termination)))
    if termination.received == signal.SIGHUP:
        _discard_output()
    return termination.exit_code


def _with_resumption(text: str) -> str:
    """Add that the same command resumes, if it does."""
    verb, words = "".join(sys.argv[1:2]), sys.argv[2:]
    if verb not in RESUMED or of_url(verb, words):
        return text
    options = RESUMED[verb]
    is_resumed = not options or any(word.startswith(options) for word in words)
    return f"{text}; {KEPT}" if is_resumed else text


def _discard_output() -> None:
    """Keep Python from exiting with 120 because it cannot flush to a lost terminal."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
        os.dup2(null, stream.fileno())


def _require_memory() -> None:
    """Raise MemoryError if the limit is so low that libraries fail without an exception."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < MIN_MEMORY_BYTES:
        raise MemoryError
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread would reserve 32 MB


def _expected_failure(error: Exception) -> int:
    """Explain a failure and return its exit code; raise unexpected ones, with their traceback."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_addon(error, " ".join(sys.argv[1:2])) or error
    if isinstance(error, ConfigError):
        for mistake in error.mistakes:
            _complain(str(mistake))
        return EXIT_USAGE
    if isinstance(error, HostError):
        _complain(f"{error.reason}\n  remedy: {error.remedy}")
    elif isinstance(error, BedError):  # outside a trial: no attempt can become invalid
        _complain(f"{error}\n  remedy: try again; httpbed doctor tests what this machine can do")
    elif _is_out_of_memory(error):
        _complain(
            "not enough memory\n  remedy: raise the limit (ulimit -v unlimited), free some memory,"
            " or run fewer trials at once with --jobs"
        )
    else:
        raise error
    return EXIT_HOST


def _is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: by Python's exception, or by the message of a library."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in OUT_OF_MEMORY)


def _operating_system(error: OSError) -> int:
    """Explain an error of the operating system; raise those without a remedy, with traceback."""
    remedies = {
        errno.ENOSPC: _with_resumption("free some space"),
        errno.EDQUOT: _with_resumption("free some of your quota"),
        errno.EACCES: "choose a folder that this user may write to with -o",
        errno.EPERM: "choose a folder that this user may write to with -o",
        errno.ENOENT: "choose another folder with -o",
        errno.ENOTDIR: "choose a folder below existing folders with -o",
        errno.EISDIR: "name a file, not a folder",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ELOOP: "name a file or folder, not a link that leads to none",
        errno.EEXIST: "choose another name, or move the file with this name away",
        errno.ENXIO: "name a regular file, not a pipe or a socket",
        errno.EFBIG: "raise the limit on file sizes: ulimit -f unlimited",
        errno.EROFS: "choose a folder on a writable filesystem with -o",
        errno.EMFILE: "raise the number of open files: ulimit -n 4096",
        errno.ENOMEM: "free some memory, or run fewer trials at once with --jobs",
    }
    if error.errno not in remedies:
        raise error
    wrong_paths = WRONG_PATHS | NOT_WRITABLE_PLACES
    if _concerns_cache(error):
        wrong_paths = WRONG_PATHS
        remedies |= dict.fromkeys(
            PLACE_REFUSED, "set HTTPBED_CACHE to a writable folder with free space"
        )
    where = error.filename or (_full_place() if error.errno == errno.ENOSPC else "")
    place = f"{where}: " if where else ""
    _complain(f"{place}{error.strerror}\n  remedy: {remedies[error.errno]}")
    return EXIT_USAGE if error.errno in wrong_paths else EXIT_HOST


def _full_place() -> str:
    """Name a place that this command line writes to and that is full; empty if none is.

    A failed write does not say which file it was.
    """
    named = (word.rpartition("=")[2] for word in sys.argv[1:])
    for path in map(Path, (*named, ".", str(folders.cache()), tempfile.gettempdir())):
        with suppress(OSError):
            place = next(one for one in (path, *path.parents) if one.exists())
            if shutil.disk_usage(place).free < FULL_BYTES:
                return str(place)
    return ""


def _concerns_cache(error: OSError) -> bool:
    """Whether the error concerns the cache, or a folder above it."""
    place, folder = Path(str(error.filename)), folders.cache()
    return place.is_relative_to(folder) or folder.is_relative_to(place)


def _complain(text: str) -> None:
    echo(f"httpbed: {text}", err=True)


@dataclass
class Termination:
    """A request to end this process, by a signal.

    SIGTERM and SIGHUP end a verb in order, as SIGINT does, with a message and an exit code. Service
    managers, batch systems and closed terminals send them. By default Python ends at once: without
    a message, and without restoring locks and the terminal.
    """

    received: signal.Signals | None = None
    """SIGTERM or SIGHUP; None before either came."""

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle SIGTERM and SIGHUP, unless the parent process ignores them, as nohup does."""
        handled = [number for number in _HANDLED if signal.getsignal(number) == signal.SIG_DFL]
        for number in handled:
            signal.signal(number, self._end)
        try:
            yield
        finally:
            for number in handled:
                signal.signal(number, signal.SIG_DFL)

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP."""
        return EXIT_SIGNALLED + (self.received or signal.SIGINT)

    def __str__(self) -> str:
        return f"ended by {self.received.name}" if self.received else "interrupted"

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Do what SIGINT does at present: while asyncio runs, it cancels its main task.

        The handler gets the signal's own number, because a run that goes on after its first SIGINT
        must not go on after SIGTERM. A background job of a shell ignores SIGINT; then raise
        KeyboardInterrupt.
        """
        self.received = signal.Signals(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            interrupt(number, frame)
        else:
            raise KeyboardInterrupt
