"""Campaigns that httpbed designs itself, each with its own verdict.

Not here: running them (``campaign``) and showing the results (``report``, ``cli``).
Start at the study's package: ``compare``, ``conformance``, ``capacity``, ``interop``, ``mirror``.
"""
