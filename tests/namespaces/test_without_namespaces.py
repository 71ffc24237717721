"""A machine whose users may make no namespaces, as runners and containers may be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patience import HTTPBED
from real_runs import SmallExperiment

pytestmark = [pytest.mark.namespaces]
FORBIDDEN = 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"'


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("doctor",), "sysctl user.max_user_namespaces"),
        (("run", "bench.toml", "-o", "campaign"), "remedy: "),
    ],
)
def test_nothing_runs_without_namespaces_and_the_remedy_is_named(
    tmp_path: Path, words: tuple[str, ...], remedy: str
) -> None:
    """Exit code 3: the machine cannot; no campaign is begun."""
    (tmp_path / "bench.toml").write_text(SmallExperiment(versions=("1.1",)).text())
    ended = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-ec", FORBIDDEN, "sh", *HTTPBED, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3, ended.stderr
    assert remedy in ended.stdout + ended.stderr
    assert not (tmp_path / "campaign").exists()
