"""Trials that httpbed designs itself: comparisons, conformance, capacity, interoperation, mirrors.

Not here: running them (``campaign``) and showing the results (``report``, ``cli``).
Start at the study's package: ``compare``, ``conformance``, ``capacity``, ``interop``, ``mirror``.
"""
