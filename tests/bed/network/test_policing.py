"""Policing: how an experiment asks for it; crates/link-model/tests has what comes of it."""

from __future__ import annotations
