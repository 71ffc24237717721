"""The exact messages of frequent mistakes: the place, the reason and the remedy, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Command


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["validate", "nothing.toml"],
            "nothing.toml: cannot be read: No such file or directory; name an experiment file",
        ),
        (
            ["validate", "own.toml"],
            "own.toml: is not a TOML file: byte 6 is not UTF-8; name an experiment file",
        ),
        (
            ["recipes", "--recipes", "nothing"],
            (
                "nothing: is not a folder; give --recipes a folder with a file NAME.toml for each"
                " recipe"
            ),
        ),
        (["compare", ""], "CLIENT: one of its values is empty; put single commas between values"),
        (["link", "--delay", "-5ms", "true"], "--delay: '-5 ms' is negative; use 0 or more"),
        (["link", "--up-loss=-4%", "true"], "--up-loss: '-4 %' is negative; use 0 or more"),
        (
            ["link", "--discipline", "red", "true"],
            "--discipline: must be 'droptail', 'codel', 'fq_codel' or 'pie', not 'red'",
        ),
        (["link", "--change", "--state", "off"], "--state: must be 'up' or 'down', not 'off'"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else None,
)
def test_a_mistake_is_one_line_and_exit_code_two(
    httpbed: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    line: str,
) -> None:
    """Each line names the place and the reason, and the remedy if the reason does not imply it."""
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_bytes(b"name =\xff\n")
    code, _, stderr = httpbed(*words)
    assert (code, stderr) == (2, f"httpbed: {line}\n")
