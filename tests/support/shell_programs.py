"""Trials in which the client or the server is a shell that runs a script."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from httpbed.experiment.trial import Record
from real_runs import SmallExperiment, stage

RECIPE = """
schema = 1
name = "wild"
roles = ["{role}"]
http_versions = ["1.1"]
workloads = ["download"]

[install]
binary = "sh"
needs = {needs}

[version]
argv = ["{{program}}", "-c", "echo 1"]
pattern = '(?P<version>1)'

[run]
argv = ["{{program}}", "{{folder}}/wild.sh"]
stdout = "said.txt"
stderr = "errors.txt"
ready = {{ tcp = {ready} }}

[run.files]
"wild.sh" = '''
cd {{folder}}
{script}
'''

[parse]
parser = "{parser}"
file = "said.txt"
"""


TOOLS = (
    *("cat", "chmod", "chroot", "head", "ln", "ls", "mkdir", "mkfifo", "mount", "mv", "nsenter"),
    *("rm", "sh", "sleep", "tail", "touch", "truncate", "umount", "yes"),
)
"""Programs that scripts may call; no other program of this machine is visible to them."""


def outcome(tmp_path: Path, script: str, role: str = "client") -> Record:
    """Run a trial with a shell that runs this script; its only valid attempt must have failed."""
    (tmp_path / "recipes").mkdir()
    ready, parser = ("[443]", "access-log-json") if role == "server" else ("[]", "curl-json")
    needs = json.dumps(TOOLS)
    text = RECIPE.format(role=role, ready=ready, parser=parser, script=script, needs=needs)
    (tmp_path / "recipes/wild.toml").write_text(text)
    settings = SmallExperiment(versions=("1.1",), time_limit="15 s")
    settings = (
        replace(settings, server="wild") if role == "server" else replace(settings, client="wild")
    )
    (record,) = stage(settings, [tmp_path / "recipes"]).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "failed", record.attempt.outcome.reason
    return record
