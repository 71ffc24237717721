"""Measures the base and the head of a pull request, and says which is slower, where people look.

The steps of action.yml call it. Its input comes in environment variables: those of action.yml's
inputs, and those that GitHub documents for every job. It imports only httpbed and the standard
library.

    python action/pull_request.py measure
    python action/pull_request.py comment FILE
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from httpbed.addons.gate import gate_report
from httpbed.addons.gate.bisection import BUILD_TIMEOUT_S, build, checkout
from httpbed.addons.gate.gate_report import Gate
from httpbed.addons.gate.git_repository import GitError
from httpbed.base import units
from httpbed.base.errors import HttpbedError, RejectedValueError
from httpbed.store import query

STANDARD = "standard"
TIMEOUT_S = 30
MAX_COMMENT = 60_000
"""GitHub accepts 65,536 characters."""
MAX_PAGES = 20
"""Of 100 comments each."""
MAX_LOG = 2_000
VIEWER = "{ viewer { login } }"
SEEN = {"pass": "No treatment became slower", "inconclusive": "The blocks settle nothing"}


class NotMeasuredError(Exception):
    """There is no verdict; the message says why."""


def main(words: Sequence[str]) -> int:
    """Run a step; return its exit code."""
    if words == ["measure"]:
        return measure(os.environ)
    if len(words) == 2 and words[0] == "comment":
        return comment(Path(words[1]).read_text(encoding="utf-8"), os.environ)
    print(__doc__, file=sys.stderr)
    return 2


def measure(inputs: Mapping[str, str]) -> int:
    """Build and measure both revisions; print annotations; return 1 if the head is slower."""
    work = Path(tempfile.mkdtemp(prefix="httpbed-", dir=inputs.get("RUNNER_TEMP")))
    reproduce: Sequence[str] = ()
    try:
        margin = units.parse_share(inputs.get("THRESHOLD") or "3 %")
        with base_checkout(inputs["BASE"], work / "base") as base:
            builds = {"base": built("base", base, inputs), "head": built("head", Path(), inputs)}
            reproduce = commands(inputs)
            campaigns = measured(builds, work, inputs)
            read = [query.read(Path(one)) for one in campaigns]
            gate = gate_report.decide(
                read, metric=None, margin=margin, treatments=True, strict=False
            )
            print(gate_report.in_github(gate), end="")
            text = gate_report.in_markdown(gate)
            gate_report.append_to_summary(text)
            code, verdict = int(gate.fails), str(gate.verdict)
            text += explanation(gate)
    except (NotMeasuredError, HttpbedError, RejectedValueError) as reason:
        print(f"::error title=httpbed::{gate_report.escaped(str(reason))}")
        code, verdict, text = 1, "not measured", fenced(str(reason))
    file = work / "comment.md"
    file.write_text(body(verdict, text, reproduce, inputs), encoding="utf-8")
    with Path(inputs.get("GITHUB_OUTPUT", os.devnull)).open("a", encoding="utf-8") as outputs:
        outputs.write(f"verdict={verdict}\ncomment={file}\n")
    return code


@contextmanager
def base_checkout(revision: str, folder: Path) -> Iterator[Path]:
    """Check out the base beside the user's checkout."""
    if not revision:
        raise NotMeasuredError("no base: outside of pull requests, name one with the input base")
    with checkout(Path(), folder) as tree:
        try:
            tree.change_to(revision)
        except GitError:
            remedy = "use fetch-depth: 0; if the base branch was rewritten, rebase the pull request"
            raise NotMeasuredError(f"{revision} is not in the checkout: {remedy}") from None
        yield tree.folder


def built(name: str, folder: Path, inputs: Mapping[str, str]) -> Path:
    """Build a revision and return its executable."""
    log = io.BytesIO()
    if reason := build(inputs["BUILD"], folder, log, BUILD_TIMEOUT_S):
        last = log.getvalue()[-MAX_LOG:].decode(errors="replace")
        raise NotMeasuredError(f"the build of the {name} failed: {reason}\n{last}")
    executable = (folder / inputs["EXECUTABLE"]).absolute()
    if not executable.is_file():
        raise NotMeasuredError(f"the build of the {name} made no {inputs['EXECUTABLE']}")
    return executable


def measured(builds: Mapping[str, Path], work: Path, inputs: Mapping[str, str]) -> list[str]:
    """Run both builds; return the campaigns to compare."""
    campaigns = ("campaign",) if of_standard(inputs) else ("base", "head")
    places = {name: work / f"run-{name}" for name in campaigns}
    for words in runs(inputs, str(builds["base"]), str(builds["head"]), places):
        printed([*words, "--json"], accepted=(0, 1))
    return [str(place) for place in places.values()]


def of_standard(inputs: Mapping[str, str]) -> bool:
    """Whether the builds run in the standard networks, in one campaign."""
    return (inputs.get("SCENARIO") or STANDARD) == STANDARD


def runs(
    inputs: Mapping[str, str], base: str, head: str, places: Mapping[str, Path]
) -> Iterator[list[str]]:
    """Yield the command lines that run both builds, into the folders of their campaigns."""
    name = inputs["PROGRAM"]
    recipes = ["--recipes", inputs["RECIPES"]] if inputs.get("RECIPES") else []
    if of_standard(inputs):
        words = ["httpbed", "gate", "--scenarios", STANDARD, *recipes]
        words += ["--program", f"{name}={base}", "--against", f"{name}={head}"]
        yield [*words, "-o", str(places["campaign"])]
        return
    for revision, executable in (("base", base), ("head", head)):
        words = ["httpbed", "run", inputs["SCENARIO"], *recipes, "--clock", "virtual"]
        words += ["--program", f"{name}={executable}", "-o", str(places[revision])]
        yield words


def commands(inputs: Mapping[str, str]) -> list[str]:
    """Return the lines of a shell that measure the same in a reader's checkout."""
    base, executable = Path("../base"), inputs["EXECUTABLE"]
    folders = ("campaign", "base", "head")
    places = {name: Path(f"../httpbed-{name}") for name in folders}
    margin = ["--margin", inputs.get("THRESHOLD") or "3 %"]
    lines = list(runs(inputs, f"{base}/{executable}", f"./{executable}", places))
    if of_standard(inputs):
        lines[0] += margin
    else:
        lines.append(["httpbed", "gate", str(places["base"]), str(places["head"]), *margin])
    return [
        "# in a checkout of the pull request",
        shlex.join(["git", "worktree", "add", "--detach", str(base), inputs["BASE"]]),
        f"( cd {base} && {inputs['BUILD']} )",
        inputs["BUILD"],
        *map(shlex.join, lines),
    ]


def explanation(gate: Gate) -> str:
    """Return why the treatment that changed most is slower now, as Markdown; empty if none is."""
    if not (words := gate_report.explaining(gate)):
        return ""
    words = [*words, "--format", "markdown"]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        return ""
    return f"\n<details><summary>Why it is slower</summary>\n\n{ended.stdout}\n</details>\n\n"


def printed(words: Sequence[str], accepted: Sequence[int]) -> str:
    """Run httpbed and return what it prints; its messages go on to the job's log."""
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in accepted:
        raise NotMeasuredError(
            f"exit code {ended.returncode} of {shlex.join(words)}; see the job's log"
        )
    return ended.stdout


def body(verdict: str, text: str, reproduce: Sequence[str], inputs: Mapping[str, str]) -> str:
    """Return the comment: marker, verdict, table, and the commands that give it again."""
    lines = [marker(inputs), f"## httpbed: {verdict}", "", SEEN.get(verdict, ""), "", text]
    if reproduce:
        lines += ["<details><summary>Measure it again</summary>", "", "```sh", *reproduce, "```"]
        lines += ["", "</details>"]
    whole = "\n".join(lines)
    if len(whole) > MAX_COMMENT:
        whole = f"{whole[:MAX_COMMENT]}\n\nThe rest is in the job's summary.\n"
    return whole


def marker(inputs: Mapping[str, str]) -> str:
    """Return the line by which the next run finds its comment."""
    return f"<!-- httpbed {inputs['PROGRAM']} {inputs.get('SCENARIO') or STANDARD} -->"


def comment(text: str, environment: Mapping[str, str]) -> int:
    """Write the comment of the pull request, or replace the one of an earlier run.

    Everyone can write the marker of a comment, so only those of the token's own user are replaced.
    A fork has no token that may write, and GitHub may not answer. The summary has the table in any
    case, so a comment that cannot be written fails no job.
    """
    event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    repository = f"{environment['GITHUB_API_URL']}/repos/{environment['GITHUB_REPOSITORY']}"
    issue = f"{repository}/issues/{int(event['pull_request']['number'])}/comments"
    first = text.splitlines()[0]
    try:
        author = writer(environment)
        earlier = next(
            (
                one["id"]
                for one in comments(issue, environment)
                if one["body"].startswith(first) and (one.get("user") or {}).get("login") == author
            ),
            None,
        )
        if earlier:
            request(f"{repository}/issues/comments/{earlier}", environment, "PATCH", {"body": text})
        else:
            request(issue, environment, "POST", {"body": text})
    except OSError as error:  # urllib's errors are some
        cause = " (the token may not write)" if getattr(error, "code", 0) in {401, 403, 404} else ""
        print(f"::notice title=httpbed::no comment: {gate_report.escaped(str(error))}{cause}")
    return 0


def writer(environment: Mapping[str, str]) -> str:
    """Return the name of the token's user: github-actions[bot], for the token of a job.

    Raises:
        OSError: GitHub names none, or does not answer.
    """
    answer = request(environment["GITHUB_GRAPHQL_URL"], environment, "POST", {"query": VIEWER})
    if name := ((answer.get("data") or {}).get("viewer") or {}).get("login"):
        return str(name)
    raise OSError("GitHub does not name the token's user")


def comments(issue: str, environment: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the comments of a pull request."""
    for page in range(1, MAX_PAGES + 1):
        found = request(f"{issue}?per_page=100&page={page}", environment)
        yield from found
        if len(found) < 100:
            return


def request(
    address: str,
    environment: Mapping[str, str],
    method: str = "GET",
    values: Mapping[str, str] | None = None,
) -> Any:
    """Ask GitHub's API."""
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {environment['GITHUB_TOKEN']}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if values is None else json.dumps(values).encode()
    asked = urllib.request.Request(address, data, headers, method=method)  # noqa: S310 - GitHub's
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
        return json.load(answer)


def fenced(text: str) -> str:
    """Return a text as a block of Markdown, out of which no line of it leads."""
    return "```text\n{}\n```\n".format(text.replace("`", "'"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
