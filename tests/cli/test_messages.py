"""Messages that no transcript of a mistake has: suggestions, and outputs that stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.cli import options
from httpbed.programs import catalog


def test_a_misspelt_campaign_and_program_get_a_suggestion(httpbed: Command, tmp_path: Path) -> None:
    """Of the folders beside it, only campaigns are suggested; else what is known is listed."""
    stored_campaigns.make(
        tmp_path / "losses-2", [stored_campaigns.record(stored_campaigns.loaded().trials[0])]
    )
    (tmp_path / "losses-3").mkdir()
    for verb in ("report", "gate", "explain"):
        code, _, err = httpbed(verb, tmp_path / "losses-1")
        assert (code, str(tmp_path / "losses-2") in err, "losses-3" in err) == (2, True, False)
    code, _, err = httpbed("toolbox", "unheard-of")
    assert (code, "nginx" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "successor"),
    [
        (["run", "x.toml", "--wait", "5 min"], "when the machine is quiet"),
        (["compare", "--wait=1h"], "when the machine is quiet"),
        (["link", "--change", "--of", "7"], "experiment file"),
        (["pages", "mirror", "--files", "3", "http://a.test"], "90 MiB"),
        (["compare", "curl:h2", "--cluster", "tls://a:1"], "httpbed run FILE --cluster"),
        (
            ["gate", "--scenarios", "standard", "--against", "curl=a", "--cluster=tls://a:1"],
            "httpbed run FILE --cluster",
        ),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else None,
)
def test_an_option_of_before_or_of_another_verb_names_the_way_out(
    httpbed: Command, words: list[str], successor: str
) -> None:
    """As a verb of before does; other mistakes stand beside it."""
    code, _, stderr = httpbed(*words)
    given = {"--wa", "--of", "--fi", "--cl"}
    (option,) = [word.partition("=")[0] for word in words if word[:4] in given]
    said = [line for line in stderr.splitlines() if line.startswith(f"httpbed: {option}: is no")]
    assert (code, len(said)) == (2, 1)
    assert successor in said[0]


def test_the_help_of_verbs_below_a_verb_is_whole(httpbed: Command) -> None:
    """Each first sentence to its end; click would cut it to a line."""
    for group in ("pages", "toolbox", "doctor"):
        code, out, _ = httpbed(group, "--help")
        assert code == 0
        assert "..." not in out.partition("Commands:")[2]


def test_a_program_is_shown_with_its_knobs(httpbed: Command) -> None:
    """With levels and defaults; a misspelt name gets a suggestion."""
    code, out, _ = httpbed("toolbox", "gtlsclient")
    recipe = catalog.load()["gtlsclient"]
    assert code == 0
    assert recipe.knobs
    for name, knob in recipe.knobs.items():
        assert f"{name}: {knob.domain()}; default {knob.default}" in out
    assert httpbed("toolbox", "show", "curl", "nginx")[1].count("knobs") == 2
    code, _, stderr = httpbed("toolbox", "crul", "wgte")
    assert code == 2
    assert ["crul" in line for line in stderr.splitlines()] == [True, False]
    assert "curl" in stderr


@pytest.mark.parametrize(
    "name", ["manifest.json", "trials.parquet", "tables.json", "trials/new", "link"]
)
def test_an_output_never_replaces_a_campaign_s_own_file(
    httpbed: Command, tmp_path: Path, name: str
) -> None:
    """A lost manifest or trial cannot be restored, so the verb refuses before it writes."""
    campaign = tmp_path / "campaign"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    (campaign / "link").symlink_to("design.jsonl")
    before = (campaign / "manifest.json").read_bytes(), (campaign / "design.jsonl").read_bytes()
    code, _, stderr = httpbed("export", campaign, "-o", campaign / name)
    reason = "is part of a campaign; name another file"
    assert (code, stderr) == (2, f"httpbed: -o {campaign / name}: {reason}\n")
    after = (campaign / "manifest.json").read_bytes(), (campaign / "design.jsonl").read_bytes()
    assert after == before


@pytest.mark.parametrize(
    ("verb", "output"),
    [
        (("export", "--format", "parquet"), "other/trials.parquet"),
        (("export", "--dataset"), "other"),
        (("export", "--archive"), "other/trials/inner"),
        (("report",), "other/manifest.json"),
    ],
)
def test_an_output_replaces_nothing_of_another_campaign(
    httpbed: Command, tmp_path: Path, verb: tuple[str, ...], output: str
) -> None:
    """An archive has no attempts from which its tables could be made again."""
    campaign, other = tmp_path / "campaign", tmp_path / "other"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    assert httpbed("export", "--archive", campaign, "-o", other)[0] == 0
    before = {path: path.read_bytes() for path in other.iterdir() if path.is_file()}
    code, _, stderr = httpbed(verb[0], campaign, *verb[1:], "-o", tmp_path / output)
    assert code == 2
    assert "a campaign" in stderr
    assert {path: path.read_bytes() for path in before} == before
    assert not (other / "trials").exists()


@pytest.mark.parametrize("is_link", [False, True])
def test_a_report_does_not_replace_a_file_of_the_user(
    httpbed: Command, tmp_path: Path, is_link: bool
) -> None:
    """Neither in the campaign, nor elsewhere through a link."""
    campaign, notes = tmp_path / "campaign", tmp_path / "notes.html"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    report = campaign / "report.html"
    if is_link:
        report.symlink_to(notes)
    else:
        notes = report
    notes.write_text("my own notes")
    code, _, stderr = httpbed("report", campaign)
    assert (code, notes.read_text()) == (2, "my own notes")
    assert stderr == (
        f"httpbed: {report}: exists and is not a report that httpbed wrote;"
        " name another file, or delete this one\n"
    )


def test_figures_are_not_written_through_a_link(httpbed: Command, tmp_path: Path) -> None:
    """The folder that it leads to may have the user's figures."""
    campaign, own = tmp_path / "campaign", tmp_path / "own"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    own.mkdir()
    (campaign / "figures").symlink_to(own)
    code, _, stderr = httpbed("report", campaign)
    assert code == 2
    assert "figures: is a link" in stderr
    assert not [*own.iterdir()]


@pytest.mark.parametrize("words", [("validate",), ("plan",), ("compare", "curl:h1", "--dry-run")])
def test_an_executable_that_cannot_run_is_rejected_before_a_run(
    httpbed: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """What validate accepts, run accepts too."""
    file = tmp_path / "loss.toml"
    file.write_text(stored_campaigns.loaded().text)
    own = ("--program", "curl=/no/such/curl")
    code, _, stderr = httpbed(*words, *([] if "compare" in words else [file]), *own)
    assert code == 2
    assert "httpbed: curl: install.binary: /no/such/curl is not there; " in stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["10mbit", "--", "true"], True),
        (["--", "--rate", "10mbit", "true"], True),
        (["nosuch", "--rate", "10mbit"], False),
    ],
)
def test_a_command_that_does_not_exist_is_named(
    httpbed: Command, words: list[str], *, hint: bool
) -> None:
    """As in shells the code is 127; options in the wrong place have a remedy."""
    code, _, stderr = httpbed("link", *words)
    name = next(word for word in words if word != "--")
    assert code == 127
    assert stderr.startswith(f"httpbed: {name}: no such command")
    assert ("before -- stand options" in stderr) == hint


EXPORTED = "a CSV file that httpbed exported"


@pytest.mark.parametrize(
    ("verb", "kind"), [("report", "a report that httpbed wrote"), ("export", EXPORTED)]
)
def test_an_output_replaces_only_its_own_kind_of_file(
    httpbed: Command, tmp_path: Path, verb: str, kind: str
) -> None:
    """The verb refuses to replace an experiment file, and replaces what it wrote before."""
    campaign, file = tmp_path / "campaign", tmp_path / "loss.toml"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    file.write_text('name = "loss"\n')
    code, _, stderr = httpbed(verb, campaign, "-o", file)
    message = f"-o {file}: exists and is not {kind}; name another file, or delete this one"
    assert (code, stderr) == (2, f"httpbed: {message}\n")
    file.write_text("")
    for _ in range(2):
        assert httpbed(verb, campaign, "-o", file)[0] == 0
    assert file.read_text()


@pytest.mark.parametrize(("option", "kind"), [("--json", "json"), ("--format=parquet", "parquet")])
def test_an_export_replaces_an_earlier_one_of_its_format(
    httpbed: Command, tmp_path: Path, option: str, kind: str
) -> None:
    """Each format is recognised by its first bytes."""
    campaign, file = tmp_path / "campaign", tmp_path / f"data.{kind}"
    stored_campaigns.make(campaign, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    for _ in range(2):
        assert httpbed("export", campaign, option, "-o", file)[0] == 0
    assert httpbed("export", campaign, "-o", file)[0] == 2


def test_a_mistake_in_an_environment_variable_names_it(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command line has no such option; one on the command line wins."""
    monkeypatch.setenv("HTTPBED_LINK_BACKEND", "dummynet")
    code, _, err = httpbed("run", tmp_path)
    assert code == 2
    assert err.startswith("httpbed: $HTTPBED_LINK_BACKEND: 'dummynet' is unknown; known: ")
    _, _, err = httpbed("run", tmp_path, "--link-backend", "ipfw")
    assert err.startswith("httpbed: --link-backend: 'ipfw' is unknown; known: ")


def test_a_level_is_found_without_its_spaces(httpbed: Command, tmp_path: Path) -> None:
    """Experiment files accept both spellings of a quantity; two levels alike are not guessed."""
    trials = stored_campaigns.loaded().trials
    done = stored_campaigns.make(tmp_path / "done", map(stored_campaigns.record, trials))
    loss = next(level for level in stored_campaigns.loaded().experiment.factors["loss"] if level)
    words = f"http_version=2,loss={loss.replace(' ', '')}", f"http_version=3,loss={loss}"
    code, _, err = httpbed("explain", done.directory, "--no-run", "--why", *words)
    assert (code, err) == (0, "")
    code, _, err = httpbed("report", done.directory, "--base", f"loss={loss.replace(' ', '')}")
    assert code == 0
    assert options.meant_level("100KB", ["100 kB", "1 MB"]) == "100 kB"
    assert options.meant_level("a b", ["ab", "A b"]) is None
