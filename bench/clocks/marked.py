"""The first process of a guest that marks the end of each phase.

A mark is a file in the shared folder. This machine's file system stamps it with this machine's
time, which nothing in a guest can read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from httpbed.addons.virtual import first_process, inside, job
from httpbed.addons.virtual.visible_files import SHARED
from httpbed.trial.run import runner

MARKS = "marks"


def mark(name: str) -> None:
    """Mark that a phase ends now; the phases of one name count together."""
    folder = SHARED / MARKS
    folder.mkdir(exist_ok=True)
    (folder / f"{len([*folder.iterdir()]):02d} {name}").touch()


class MarkedPhases(runner.Phases):
    """The phases of an attempt, each marked."""

    def __init__(self) -> None:
        super().__init__()
        mark("plan")

    def end(self, name: str) -> None:
        """End a phase, and mark it."""
        super().end(name)
        mark(name)


def marked(name: str, act: Callable[..., None]) -> Callable[..., None]:
    """Return a function that marks its end."""

    @wraps(act)
    def acts(*arguments: object) -> None:
        act(*arguments)
        mark(name)

    return acts


def main() -> None:
    """Do what the first process of a guest does; nothing can be marked before it has a root."""
    first_process.make_root = marked("kernel, Python and root", first_process.make_root)
    job.write_result = marked("copy", job.write_result)
    runner.Phases = MarkedPhases  # type: ignore[assignment, misc]
    inside.main()
