"""A job that does nothing: its guest shows whether this machine runs guests."""

from __future__ import annotations

from httpbed.addons.virtual import job


def main() -> None:
    """Leave an empty result, and power off."""
    job.perform(lambda _: {})
