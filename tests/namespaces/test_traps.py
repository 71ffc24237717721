"""Programs that leave traps for whoever looks at their files: nobody is caught.

A link to a file of the user's, a pipe that nobody writes to, a device that never ends; a folder
that is moved away. The user's files stay as they were, and the trial ends with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.experiment.trial import Record
from httpbed.programs import recipe
from httpbed.trial import plan
from httpbed.trial.hops import sockets_file
from real_runs import check
from recorded import H2_LOSS, planned
from shell_programs import outcome

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

MB = 10**6
PRIVATE = "nobody's business"
BODY = "/tmp/bodies/client/100000.txt"  # noqa: S108 - inside the sandbox
FLOOD = "yes >flood"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Make a folder of the user's with a file that a client might have printed."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "said.txt").write_text(json.dumps({"errormsg": PRIVATE}))
    return folder


@pytest.fixture(autouse=True)
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LOG_BYTES", 4 * MB)
    monkeypatch.setattr(recipe, "MEMORY_BYTES", 64 * MB)


def trapped(tmp_path: Path, victim: Path, script: str, role: str = "client") -> Record:
    """Run a script as a trial's client or server; the victim must be as before."""
    record = outcome(tmp_path, script.replace("VICTIM", str(victim)), role)
    assert [file.name for file in victim.iterdir()] == ["said.txt"]
    assert json.loads((victim / "said.txt").read_text()) == {"errormsg": PRIVATE}
    assert PRIVATE not in record.model_dump_json()
    return record


def left(tmp_path: Path) -> Path:
    """Find the folder of the only attempt that counts."""
    return next(iter(tmp_path.glob("campaign/trials/*/*/*/artifacts")))


@pytest.mark.parametrize(
    ("trap", "kind"),
    [
        ("mkfifo", "a named pipe"),
        ("ln -s VICTIM/said.txt", "a symbolic link"),
        ("ln -s /dev/zero", "a symbolic link"),
        ("mkdir", ""),
    ],
)
@pytest.mark.parametrize("role", ["client", "server"])
def test_what_is_no_file_is_not_read(
    tmp_path: Path, victim: Path, trap: str, kind: str, role: str
) -> None:
    """Traps in place of output files are not followed; traps in place of folders are removed."""
    script = f"rm said.txt errors.txt\n{trap} said.txt\n{trap} errors.txt\n"
    record = trapped(tmp_path, victim, script, role)
    if kind:
        assert f"{role} left {kind}, " in check(record, "parts' folders").figure
    elif role == "client":
        assert "said.txt is not a regular file" in check(record, "client ended well").figure


@pytest.mark.parametrize("trap", ["mkfifo", "ln -s /dev/zero", "ln -s /proc/kmsg", "mkdir"])
def test_what_is_no_body_is_not_read(tmp_path: Path, victim: Path, trap: str) -> None:
    """A trap in place of a body does not block the run."""
    record = trapped(tmp_path, victim, f"{trap} {BODY}\n")
    assert check(record, "body as served").figure == "the client stored nothing"


def test_a_folder_cannot_be_replaced(tmp_path: Path, victim: Path) -> None:
    """What the program writes stays in its own folder, within its bound."""
    script = "cd /; mv /trial/client /trial/other; umount /trial/client; rm -r /trial/client\n"
    script += f"ln -sfn VICTIM /trial/client; cd /trial/client; {FLOOD}"
    record = trapped(tmp_path, victim, script)
    assert "client filled its folder of 4 MB" in record.attempt.outcome.reason
    assert (left(tmp_path) / "client/flood").stat().st_size <= MB * 2


def test_nothing_is_written_beside_the_own_folder(tmp_path: Path, victim: Path) -> None:
    """Files of httpbed itself there are unchanged."""
    (hop,) = planned(H2_LOSS).hops
    names = ("evidence.json", "link-result.json", "link-events.jsonl", sockets_file(hop.sender))
    script = "".join(f"ln -s VICTIM/said.txt /trial/{name}\n" for name in names)
    trapped(tmp_path, victim, script)
    assert not any(file.is_symlink() for file in left(tmp_path).rglob("*"))
    assert json.loads((left(tmp_path) / "evidence.json").read_text())["exits"]["client"]


def test_files_beside_the_own_folder_are_in_memory(tmp_path: Path, victim: Path) -> None:
    """They end with the memory bound and with the trial."""
    script = "n=0; while head -c 1000000 /dev/zero >/trial/$n; do n=$((n+1)); done; exit 3"
    record = trapped(tmp_path, victim, script)
    assert check(record, "client ended well").figure.startswith("exit status 3")
    assert sum(file.stat().st_size for file in left(tmp_path).rglob("*")) < 4 * MB


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        ("ls /proc/1/root/trial", "cannot access '/proc/1/root/trial': Permission denied"),
        ("umount /trial/client", "/trial/client: must be superuser to unmount"),
        ("mount -t tmpfs none /trial", "/trial: permission denied"),
        (
            "chroot /tmp /bin/true",
            "cannot change root directory to '/tmp': Operation not permitted",
        ),
        ("nsenter --net=/proc/1/ns/net true", "cannot open /proc/1/ns/net: Permission denied"),
    ],
)
def test_no_program_leaves_its_namespaces(
    tmp_path: Path, victim: Path, command: str, refusal: str
) -> None:
    """The kernel refuses every command, whichever user the program is inside."""
    record = trapped(tmp_path, victim, f"PATH=$PATH:/usr/sbin:/sbin; {command} && exit 0; exit 3")
    assert check(record, "client ended well").figure.startswith("exit status 3")
    errors = (left(tmp_path) / "client/errors.txt").read_text()
    assert errors.startswith(f"{command.split(maxsplit=1)[0]}: {refusal}")


@pytest.mark.parametrize(
    "place", ["/etc/shadow", "/root", "/home", "/usr/share", "/etc/hostname", "/sys", "/old"]
)
def test_an_own_binary_sees_none_of_this_machines_files(
    tmp_path: Path, victim: Path, place: str
) -> None:
    """It sees itself, its libraries and what its recipe names."""
    record = trapped(tmp_path, victim, f"ls {place} && exit 0; exit 3")
    assert check(record, "client ended well").figure.startswith("exit status 3")
    assert "No such file" in (left(tmp_path) / "client/errors.txt").read_text()


def test_folders_without_end_are_ended(tmp_path: Path, victim: Path) -> None:
    """Walking them ends after a bounded number."""
    record = trapped(tmp_path, victim, "while mkdir d && cd d; do :; done; sleep 10")
    assert "made folders more than 32 deep" in record.attempt.outcome.reason
