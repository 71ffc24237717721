"""The programs under test: recipes (TOML) that say how to run and read each of them.

Not here: starting processes (``bed/sandbox``), deciding what a trial runs (``trial/plan``).
Start at ``recipe``; ``part`` has what it gets of a trial and reports of it. Then ``catalog`` and
``parsers``.
"""
