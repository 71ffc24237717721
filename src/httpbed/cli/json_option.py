"""The option ``--json``, which every verb has."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
