"""The kinds of files that verbs export, as the command line names them."""

from __future__ import annotations

TABLES = ("csv", "parquet")
HAR, CDP_JSON = "har", "cdp-json"
LOADS = (HAR, CDP_JSON)
"""One file for each page load."""
