"""The programs under test: recipes (TOML) that say how to run and read each of them.

Not here: starting processes (``bed/sandbox``), deciding what a trial runs (``trial/plan``).
Start at ``protocol`` (the plugin interface), then ``recipe``, ``catalog`` and ``parsers``.
"""
