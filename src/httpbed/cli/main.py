"""The command ``httpbed``: its verbs, and one place where failures become exit codes."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import click

from httpbed.cli.echo import echo
from httpbed.cli.verbs import Verbs
from httpbed.host import cache
from httpbed.model.errors import BedError, ConfigError, HostError

EXIT_USAGE, EXIT_HOST, EXIT_INTERRUPTED, EXIT_PIPE = 2, 3, 130, 141
WRONG_PATHS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})
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
    3 this machine cannot; 130 interrupted.
    """


def main() -> None:
    """Run the command line and leave with the exit code that says whose fault it was."""
    try:
        # Else matplotlib keeps its font cache in a folder of the user's that is not ours.
        os.environ.setdefault("MPLCONFIGDIR", str(cache.folder() / "matplotlib"))
        code = cli.main(standalone_mode=False)
    except SystemExit:  # click's way out when nobody reads on
        code = EXIT_PIPE
    except (click.exceptions.Abort, KeyboardInterrupt):
        kept = "; what was finished is kept, and the same command resumes it"
        _complain("interrupted" + ("" if sys.argv[1:2] == ["link"] else kept))
        code = EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except ConfigError as error:
        for mistake in error.mistakes:
            _complain(str(mistake))
        code = EXIT_USAGE
    except HostError as error:
        _complain(f"{error.reason}\n  remedy: {error.remedy}")
        code = EXIT_HOST
    except BedError as error:  # outside a trial, where no attempt is there to be invalid
        _complain(f"{error}\n  remedy: try again; httpbed doctor says what this machine can do")
        code = EXIT_HOST
    except OSError as error:
        code = _operating_system(error)
    sys.exit(code or 0)


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
    place, folder = Path(str(error.filename)), cache.folder()
    return place.is_relative_to(folder) or folder.is_relative_to(place)


def _complain(text: str) -> None:
    echo(f"httpbed: {text}", err=True)
