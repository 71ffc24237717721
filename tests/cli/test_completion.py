"""Completion in a shell: verbs, options and the names that httpbed knows."""

from __future__ import annotations

import subprocess

import pytest

from command_line import Command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("httpbed repo", ["plain,report"]),
        ("httpbed run --sca", ["plain,--scale"]),
        ("httpbed run --scale sm", ["plain,smoke"]),
        ("httpbed report --metric request", ["plain,request_time"]),
        ("httpbed pages ma", ["plain,make"]),
        ("httpbed pages make ranjan-small-m", ["plain,ranjan-small-many"]),
        ("httpbed toolbox profiles 4g", ["plain,4g-us"]),
        ("httpbed link --profile lt", ["plain,lte"]),
        ("httpbed toolbox check cur", ["plain,curl", "plain,curl-cffi"]),
        ("httpbed toolbox build hap", ["plain,haproxy"]),
        ("httpbed conformance cad", ["plain,caddy"]),
        ("httpbed compare curl:", ["plain,curl:h1", "plain,curl:h2", "plain,curl:h3"]),
        ("httpbed validate los", ["file,los"]),
        ("httpbed run --jobs 0 --replicates x --stri", ["plain,--strict"]),
    ],
)  # fmt: skip
def test_words_are_completed(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, line: str, expected: list[str]
) -> None:
    """A mistake earlier in the line does not matter, and the exit code is 0."""
    monkeypatch.setenv("_HTTPBED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    code, out, err = httpbed()
    assert (code, out.split(), err) == (0, expected, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    """The script asks the program for completions."""
    monkeypatch.setenv("_HTTPBED_COMPLETE", f"{shell}_source")
    code, out, _ = httpbed()
    assert code == 0
    assert f"_HTTPBED_COMPLETE={shell}_complete" in out


def test_bash_accepts_the_script(httpbed: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It defines a function and registers it."""
    monkeypatch.setenv("_HTTPBED_COMPLETE", "bash_source")
    _, script, _ = httpbed()
    asked = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ncomplete -p httpbed"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-F _httpbed_completion httpbed" in asked.stdout
