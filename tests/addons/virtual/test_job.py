"""What host and guest hand each other through the shared folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from httpbed.addons.virtual import guest_modules, job
from httpbed.addons.virtual.command import INIT
from httpbed.addons.virtual.visible_files import HANDED
from httpbed.base.errors import BedError


def test_the_first_program_runs_the_module_with_this_python(tmp_path: Path) -> None:
    """And the work is beside it."""
    given = job.hand_over(tmp_path, "httpbed.some.module", {"seed": 7})
    script = (given.folder / INIT).read_text()
    program = f"{guest_modules.__file__} {HANDED / guest_modules.FILE}"
    assert script.splitlines()[-1].endswith(f"{sys.executable} -P {program} httpbed.some.module")
    assert os.access(given.folder / INIT, os.X_OK)
    assert job.read_work(given.folder) == {"seed": 7}
    assert any(Path(sys.prefix).is_relative_to(place) for place in given.seen)


def test_the_result_comes_back(tmp_path: Path) -> None:
    """As JSON has it."""
    job.write_result(tmp_path, {"phases_s": {"client": 142.6}})
    assert job.read_result(tmp_path) == {"phases_s": {"client": 142.6}}


def test_a_job_that_broke_off_in_the_guest_is_broken_off_here(tmp_path: Path) -> None:
    """With the reason that the bed gave there."""
    job.write_result(tmp_path, {"broken": "the emulator ended"})
    with pytest.raises(BedError, match=r"^the emulator ended$"):
        job.read_result(tmp_path)


def test_a_guest_that_left_nothing_broke_off(tmp_path: Path) -> None:
    """A kernel may power off before Python has written anything."""
    with pytest.raises(BedError, match="powered off without a result"):
        job.read_result(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[]", "7", '{"phases_s": NaN}', '{"phases_s": Infinity}', "[" * 10**6, '{"a":' * 10**5, "\0"],
)
def test_a_hostile_result_is_an_error_of_the_bed(tmp_path: Path, text: str) -> None:
    """A program may have taken the guest over, and then it writes the result."""
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(BedError, match=r"^the guest's result cannot be read: "):
        job.read_result(tmp_path)


def test_a_long_result_is_not_read(tmp_path: Path) -> None:
    """Of a file of 1 GB, not one byte."""
    with (tmp_path / "result.json").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(BedError, match="is longer than"):
        job.read_result(tmp_path)


def test_a_reason_that_a_guest_gives_is_short_and_printable(tmp_path: Path) -> None:
    """It reaches the terminal and the report."""
    job.write_result(tmp_path, {"broken": "\x1b[31m" + "long" * 10**5})
    with pytest.raises(BedError) as error:
        job.read_result(tmp_path)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 10**4


def test_a_result_that_a_command_replaced_breaks_the_job_off(tmp_path: Path) -> None:
    """A command behind a link is root in its guest, and can write to the folder."""
    others = tmp_path / "others.json"
    others.write_text("{}")
    result = tmp_path / "result.json"
    for replace in (
        lambda: result.symlink_to(others),
        lambda: os.mkfifo(result),
        lambda: result.write_text("{"),
    ):
        replace()
        with pytest.raises(BedError, match=r"^the guest's result cannot be read: "):
            job.read_result(tmp_path)
        result.unlink()


MODULES = {
    "job_of_a_test/__init__.py": """
import os
os.write(1, b"a word of an import")
from job_of_a_test import used

def main():
    import needed_later
    try:
        import ssl
    except ImportError:
        print(needed_later.VALUE, __file__)
""",
    "job_of_a_test/used.py": "VALUE = 7",
    "needed_later.py": "from job_of_a_test.used import VALUE",
    "exits.py": "raise SystemExit(3)",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Python's search path with the modules of a job."""
    folder = tmp_path / "modules"
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_a_guest_imports_from_the_file_what_the_job_imports_now_and_later(
    tmp_path: Path, modules: Path
) -> None:
    """Whatever a module does when it is imported; the files of the modules may be gone."""
    given = job.hand_over(
        tmp_path, "job_of_a_test", None, later=("needed_later", "exits", "not_there")
    )
    shutil.rmtree(modules)
    words = [guest_modules.__file__, str(given.folder / guest_modules.FILE), "job_of_a_test"]
    python_path = os.pathsep.join(filter(None, sys.path))
    ended = subprocess.run(
        [sys.executable, "-P", *words],
        env={"PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == f"a word of an import7 {modules / 'job_of_a_test/__init__.py'}\n"


def test_a_module_that_the_file_lacks_comes_from_its_own(tmp_path: Path) -> None:
    """The file has packages as they are, with what lies beside their modules."""
    given = job.hand_over(tmp_path, "httpbed.experiment", None)
    finder = guest_modules.ModulesFile(str(given.folder / guest_modules.FILE))
    assert finder.find_spec("not_there") is None
    spec = finder.find_spec("httpbed.experiment")
    assert spec is not None
    assert resources.files(importlib.util.module_from_spec(spec)).joinpath("__init__.py").is_file()


def test_a_python_that_cannot_write_the_modules_is_an_error_of_the_bed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last line is the reason."""
    monkeypatch.setattr(guest_modules, "__name__", "not_there")
    with pytest.raises(BedError, match="No module named 'not_there'"):
        job.hand_over(tmp_path, "some_job", None)
