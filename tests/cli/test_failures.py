"""Failures: all mistakes at once, clear messages, the right exit code, and no traceback."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import replays
import stored_campaigns
from command_line import Command
from hars import Said, har
from httpbed.base.errors import HostError
from httpbed.cli import main as command_line
from httpbed.cli import run
from httpbed.results.sample import Tally
from recorded import DEMO

Complaint = Callable[..., tuple[int, list[str]]]

SIX_MISTAKES = (
    DEMO.replace("replicates = 5", "replicates = -5")  # header
    .replace('"10 Mbit/s"', '"10 Mbps"')  # unit
    .replace('delay = "25 ms"', 'delay = "25 ms"\nspeed = "fast"')  # unknown key
    .replace('http_version = { factor = "http_version" }', 'http_version = { factor = "htp" }')
    .replace('"nginx"', '"ngin"')  # unknown recipe
    .replace('["0 %", "2 %"]', '["0 %", "2"]')  # level that does not parse
)


@pytest.fixture
def complaint(httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Complaint:
    """Return a function that runs httpbed and returns the exit code and the lines of stderr."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))

    def run(*arguments: str | Path) -> tuple[int, list[str]]:
        code, out, err = httpbed(*arguments)
        assert "Traceback" not in out + err
        return code, err.splitlines()

    return run


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Return a function that writes an experiment file."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "own.toml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Written = Callable[[str | bytes], Path]
PLACES = [
    "replicates",
    "topology.links[0].rate",
    "topology.links[0].speed",
    "roles.client.http_version",
    "roles.server.implementation",
    "factors.loss[1]",
]


@pytest.mark.parametrize("verb", ["validate", "plan", "run"])
def test_all_mistakes_of_a_file_are_reported_at_once(
    complaint: Complaint, written: Written, verb: str
) -> None:
    """One line each, with place and reason; exit code 2; nothing is built or run."""
    code, lines = complaint(verb, written(SIX_MISTAKES))
    assert code == 2
    for place in PLACES:
        assert any(line.startswith(f"httpbed: {place}: ") for line in lines), (place, lines)


def test_an_impossible_combination_names_the_level_that_causes_it(
    complaint: Complaint, tmp_path: Path, written: Written
) -> None:
    """A client that does not speak the version that a factor asks of it."""
    recipe = Path(command_line.__file__).parents[1] / "programs/recipes/curl.toml"
    old = recipe.read_text().replace('"2", "3"]', '"2"]').replace('name = "curl"', 'name = "old"')
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/old.toml").write_text(old)
    file = written(DEMO.replace('"curl"', '"old"'))
    code, lines = complaint("validate", file, "--recipes", tmp_path / "recipes")
    assert code == 2
    (line,) = lines
    assert line == (
        "httpbed: factors.http_version[2]: old speaks 1.1, 2 as a client, not 3"
        " (used at roles.client.http_version)"
    )


def test_mistakes_are_json_on_request(httpbed: Command, written: Written) -> None:
    """On standard output, with the same exit code."""
    code, out, _ = httpbed("validate", "--json", written(SIX_MISTAKES))
    said = json.loads(out)
    assert code == 2
    assert said["valid"] is False
    assert set(PLACES) <= {mistake["place"] for mistake in said["mistakes"]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"\x00" * 100,
        DEMO.replace("seed = 20261121", "seed = 1e999"),
        DEMO.replace("seed = 20261121", f"seed = {2**63}"),
        DEMO.replace("replicates = 5", f"replicates = {10**9}"),
        DEMO.replace('"1000 packets"', '"1e29 BDP"'),
        DEMO.replace("seed =", 'time_limit = "1e28 h"\nseed =', 1),
        DEMO.replace('"2 %"', '"[red]\\n\\u001b[2J%"'),
        DEMO.replace('["client", "server"]\n\n', "[[[[]]]]\n\n"),
        DEMO.replace("[workload]", "[workload]\nx = 1979-05-27"),
        DEMO.replace('kind = "download"', "kind = { factor = { factor = 1 } }"),
    ],
    ids=lambda content: str(content[:12]) if isinstance(content, bytes) else None,
)
def test_hostile_files_give_an_error_message(
    complaint: Complaint, written: Written, content: str | bytes
) -> None:
    """Exit 2 and a printable line, whatever the file holds."""
    code, lines = complaint("validate", written(content))
    assert code == 2
    assert lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "{there}/{long}"],
        ["validate", "{file}/below"],
        ["report", "{there}/{long}", "--status"],
        ["export", "{campaign}", "-o", "{there}/{long}"],
        ["toolbox", "--recipes", "{there}/{long}"],
        ["validate"],
        [],
    ],
    ids=" ".join,
)
def test_wrong_arguments_exit_with_code_two(
    complaint: Complaint, tmp_path: Path, words: list[str]
) -> None:
    """A folder for a file, a file for a folder, nothing at all: exit 2 with a word about it."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "file").write_text(stored_campaigns.SMALL)
    stored_campaigns.make(
        tmp_path / "campaign", [stored_campaigns.record(stored_campaigns.loaded().trials[0])]
    )
    names = {
        "there": there,
        "nothing": there / "nothing",
        "file": there / "file",
        "campaign": tmp_path / "campaign",
        "long": "x" * 300,
    }
    code, lines = complaint(*(word.format(**names) for word in words))
    assert code == 2
    assert lines


def test_a_full_disk_is_named_though_the_error_names_no_file(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A failed write does not say which file it was; several disks may be meant."""

    def fail(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "full").mkdir()
    monkeypatch.setattr(command_line.cli, "main", fail)
    monkeypatch.setattr(
        shutil,
        "disk_usage",
        lambda place: SimpleNamespace(free=int("full" not in str(place)) << 30),
    )
    code, lines = complaint("report", "x", f"--output={tmp_path}/full/x.html")
    assert code == 3
    assert lines[0].startswith(f"httpbed: {tmp_path}/full: No space left")


@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x"), 3, "free some space"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "/x"), 2, "writable filesystem"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2, "may write to"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), 3, "ulimit -n"),
        (HostError("no user namespaces", "sysctl ..."), 3, "remedy: sysctl"),
        (KeyboardInterrupt(), 130, "the same command resumes"),
        (MemoryError(), 3, "not enough memory"),
    ],
    ids=repr,
)
def test_each_failure_has_its_exit_code_and_its_remedy(
    complaint: Complaint,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    code: int,
    told: str,
) -> None:
    """2 for a place of the user's, 3 when the machine cannot, 130 when interrupted; a remedy."""

    def fail(**_: object) -> None:
        raise failure

    monkeypatch.setattr(command_line.cli, "main", fail)
    left, lines = complaint("run")
    assert left == code
    assert any(told in line for line in lines)


@pytest.mark.parametrize(
    ("words", "is_resumed"),
    [
        ("run loss.toml", True),
        ("compare curl:h2", True),
        ("compare https://a.test/file", False),
        ("conformance nginx -o evidence", True),
        ("conformance nginx --output=evidence", True),
        ("conformance nginx", False),
        ("gate --scenarios standard", True),
        ("gate before after", False),
        ("toolbox check", False),
    ],
)
def test_an_interrupt_says_whether_the_same_command_resumes(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch, words: str, is_resumed: bool
) -> None:
    """It does where the campaign is kept, which an option may decide."""

    def fail(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.cli, "main", fail)
    code, lines = complaint(*words.split())
    assert code == 130
    assert any("the same command resumes" in line for line in lines) is is_resumed


def test_a_cache_that_is_not_writable_is_the_machines_matter(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The user of a verb named no such folder."""

    def fail(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(tmp_path / "cache" / "x"))

    monkeypatch.setattr(command_line.cli, "main", fail)
    left, lines = complaint("run")
    assert left == 3
    assert "HTTPBED_CACHE" in lines[-1]


def test_an_unexpected_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """No remedy hides a fault of httpbed."""

    def fail(**_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(command_line.cli, "main", fail)
    with pytest.raises(OSError, match="Bad file descriptor"):
        command_line.main()


def test_a_device_or_a_file_that_is_too_long_is_not_read(
    complaint: Complaint, tmp_path: Path
) -> None:
    """A device may never end."""
    code, said = complaint("validate", "/dev/zero")
    assert (code, said) == (
        2,
        ["httpbed: /dev/zero: is a device, not a file; name an experiment file"],
    )
    with (tmp_path / "long.toml").open("wb") as file:
        file.truncate(2**30)
    code, said = complaint("validate", tmp_path / "long.toml")
    assert code == 2
    assert "has more than 16777216 bytes" in said[0]


def test_a_cache_that_cannot_be_created_has_its_own_remedy(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link has no -o."""
    monkeypatch.setenv("HTTPBED_CACHE", "/proc/absent/cache")
    _, said = complaint("link", "--isolated", "true")
    assert said[-1].startswith("  remedy: set HTTPBED_CACHE")


@pytest.mark.parametrize(("verb", "resumes"), [("link", False), ("run", True)])
def test_an_interrupt_promises_resumption_only_where_work_is_kept(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch, verb: str, *, resumes: bool
) -> None:
    """A link keeps nothing that could be resumed."""

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.cli, "main", interrupted)
    code, said = complaint(verb)
    assert code == 130
    assert ("resumes" in said[0]) == resumes


def test_a_program_named_twice_is_rejected(complaint: Complaint) -> None:
    """It would be unclear which executable to use."""
    twice = ("--program", "curl=/bin/ls", "--program", "curl=/bin/cat")
    code, said = complaint("toolbox", *twice)
    assert code == 2
    assert "curl is given twice" in said[0]


def test_a_program_that_cannot_run_exits_with_code_two(complaint: Complaint) -> None:
    """Building a toolbox would not help."""
    code, said = complaint("toolbox", "check", "curl", "--program", "curl=/absent/curl")
    assert code == 2
    assert "/absent/curl is not there" in said[0]


def test_all_mistakes_of_a_har_file_are_reported_at_once(
    complaint: Complaint, tmp_path: Path
) -> None:
    """Each with its entry, at the experiment's own line, before anything is built or run."""
    entries = [
        Said("https://a.test/", kind="document", mime="text/html"),
        Said("https://a.test/%00", 1),
        Said("https://\x1b2J.test/<script>", 2),
        Said("https://a.test/slow", 3, wait=5e6),
    ]
    (tmp_path / "site.har").write_text(har(entries))
    (tmp_path / "own.toml").write_text(replays.experiment(versions='["2"]', time_limit="5 s"))
    code, said = complaint("validate", tmp_path / "own.toml")
    assert code == 2
    told = [line for line in said if "workload.page.har" in line]
    assert [f"entries[{number}]" in line for number, line in enumerate(told, start=1)] == [True] * 3
    assert not any("\x1b" in line for line in said)


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop", "device"])
@pytest.mark.parametrize(
    "words",
    [
        ("validate", "{named}"),
        ("plan", "{named}"),
        ("run", "{named}", "-o", "{nothing}"),
        ("pages", "import", "{named}"),
        ("toolbox", "--recipes", "{folder}"),
    ],
    ids=lambda words: words[0],
)
def test_a_path_that_is_no_file_ends_a_verb_at_once(
    complaint: Complaint, tmp_path: Path, words: tuple[str, ...], kind: str
) -> None:
    """Nobody waits for a pipe's writer or a device's end; one line says what it is."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    named = folder / "x.toml"
    if kind == "pipe":
        os.mkfifo(named)
    elif kind == "socket":
        # The kernel allows 107 bytes for the path of a socket.
        with contextlib.chdir(folder), socket.socket(socket.AF_UNIX) as bound:
            bound.bind(named.name)
    elif kind == "folder":
        named.mkdir()
    else:
        named.symlink_to(named if kind == "loop" else "/dev/zero")
    names = {"named": named, "folder": folder, "nothing": tmp_path / "nothing"}
    code, lines = complaint(*(word.format(**names) for word in words))
    assert (code, len(lines)) == (2, 1)
    assert {"loop": "symbolic links", "pipe": "a named pipe"}.get(kind, f"a {kind}") in lines[0]


def test_a_pipe_of_the_shell_is_accepted(complaint: Complaint) -> None:
    """``httpbed validate <(...)`` passes a pipe under /dev/fd."""
    reader, writer = os.pipe()
    os.write(writer, b"schema = 2")
    os.close(writer)
    code, lines = complaint("validate", f"/dev/fd/{reader}")
    os.close(reader)
    assert code == 2
    assert any("schema" in line for line in lines)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({"failed": 3}, "every trial failed, most often because: no such option"),
        ({"failed": 2, "completed": 1}, ""),
        ({}, ""),
    ],
)
def test_a_run_whose_every_trial_failed_says_so(outcomes: dict[str, int], said: str) -> None:
    """A failed trial is data, but a campaign of nothing else is a mistake of the set-up."""
    reasons = Counter({("failed", "no such option"): outcomes.get("failed", 0)})
    assert run.every_trial_failed(Tally(3, Counter(outcomes), reasons)) == said
