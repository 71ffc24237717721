"""The package index of a root filesystem: its age, and when an expired one is accepted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian, root_filesystem
from httpbed.bed.toolbox.debian import Index
from httpbed.bed.toolbox.root_filesystem import Contents

FAKE = """
case "$*" in *Check-Valid-Until*) ;; *) if [ "$EXPIRED" = 1 ]; then
    echo "E: Release file for x is expired (invalid since 3d). Updates will not be applied."
    exit 25
fi;; esac
root="${@: -1}"; mkdir -p "$root"/{etc,dev,tmp,usr/bin}; : >"$HTTPBED_VERSIONS"
mkdir -p "$root/var/lib/apt/lists"
echo "Date: Fri, 20 Nov 2026 08:15:00 UTC" >"$root/var/lib/apt/lists/x_Release"
if [ "$EXPIRED" = 1 ]; then
    echo "Valid-Until: Sat, 21 Nov 2026 08:15:00 UTC" >>"$root/var/lib/apt/lists/x_Release"
fi
for hook; do case "$hook" in --extract-hook=grep*)
    sh -c "${hook#*=}" hook "$root";;
esac; done
"""
MADE = datetime(2026, 11, 20, 8, 15, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(debian, "mmdebstrap", lambda _: ["bash", "-c", FAKE, "fake"])
    _set_apt(tmp_path, monkeypatch, "")


def _set_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """Replace the settings of this machine's apt."""
    (tmp_path / "debian.conf").write_text(f'Dir::Etc::parts "/nowhere";\n{settings}\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "debian.conf"))


@pytest.mark.parametrize("expired", ["0", "1"])
def test_an_expired_index_is_used_only_if_the_user_accepts_it(
    monkeypatch: pytest.MonkeyPatch, expired: str
) -> None:
    """Without the option the error names the remedy, and nothing is built."""
    monkeypatch.setenv("EXPIRED", expired)
    contents, progress = Contents("sid", frozenset({"curl"})), list[str]()
    if expired == "1":
        with pytest.raises(HostError, match="has expired") as caught:
            root_filesystem.ensure(contents, say=progress.append)
        assert debian.OPTION in caught.value.remedy
        assert root_filesystem.find(contents) is None
    root = root_filesystem.ensure(contents, say=progress.append, accept_expired=expired == "1")
    assert any(line.startswith("Debian sid, package index of 2026-11-20 (") for line in progress)
    assert root.index == MADE.isoformat()
    found = root_filesystem.find(contents)
    assert found
    assert found.index_expired == (expired == "1")


@pytest.mark.parametrize(
    ("settings", "accepted"),
    [("", False), ('Acquire::Check-Valid-Until "true";', False)]
    + [(f'Acquire::Check-Valid-Until "{no}";', True) for no in ("false", "no", "0")],
)
def test_apts_own_setting_is_the_users_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, *, accepted: bool
) -> None:
    """A machine that installs from a snapshot archive needs no second word."""
    monkeypatch.setenv("EXPIRED", "1")
    _set_apt(tmp_path, monkeypatch, settings)
    assert debian.accepts_expired_here() == accepted
    if accepted:
        root = root_filesystem.ensure(Contents("sid", frozenset({"curl"})), say=lambda _: None)
        assert root.index_expired


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (datetime(2026, 11, 20, 20, tzinfo=UTC), "package index of 2026-11-20 (of today)"),
        (datetime(2026, 11, 21, 20, tzinfo=UTC), "package index of 2026-11-20 (1 day old)"),
        (datetime(2026, 11, 22, 9, tzinfo=UTC), "package index of 2026-11-20 (2 days old)"),
    ],
)
def test_the_age_of_an_index_is_reported_in_days(now: datetime, text: str) -> None:
    """An index of the same day is "of today"."""
    assert debian.age_text(Index(MADE), now) == text
    assert debian.age_text(Index(), now) == "package index of an unknown date"


def test_an_expired_index_is_called_so() -> None:
    """Its archive names the day after which it is not to be used."""
    index, now = Index(MADE, MADE + timedelta(days=7)), MADE + timedelta(days=8)
    assert debian.age_text(index, now).endswith("(8 days old, and expired)")
    assert not index.is_expired(MADE)


@pytest.mark.parametrize("text", [None, "", "Date: soon\nValid-Until:\n"])
def test_a_missing_date_is_none(tmp_path: Path, text: str | None) -> None:
    """An archive may state no date, or what is no date."""
    if text is not None:
        (tmp_path / "index").write_text(text)
    assert debian.index_dates(tmp_path / "index") == Index()


def test_perl_without_modules_gets_those_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a minimal Debian, which has perl-base; they are fetched once."""
    perl, fetched = tmp_path / "bin/perl", list[tuple[str, ...]]()
    perl.parent.mkdir()
    perl.write_text('#!/bin/sh\ncase "$*" in *Digest*) exit 2;; *) printf 5.40;; esac\n')
    perl.chmod(0o755)
    monkeypatch.setenv("PATH", str(perl.parent), prepend=":")

    def unpack(packages: tuple[str, ...], target: Path) -> None:
        fetched.append(packages)
        (target / "usr/lib/any/perl/5.40").mkdir(parents=True)

    monkeypatch.setattr(debian, "unpack", unpack)
    for _ in range(2):
        env, modules, program = debian._perl(lambda _: None)
        assert (env, program) == ("env", "perl")
        assert modules.startswith("PERL5LIB=")
        assert modules.endswith("/usr/lib/any/perl/5.40")
    assert fetched == [("perl-modules-5.40", "libperl5.40")]
    perl.write_text("#!/bin/sh\n")
    assert debian._perl(lambda _: None) == ["perl"]
