"""Running a design: preparation, manifest, executor, retries.

Not here: what happens inside a trial (``trial``), and what is on disk (``store``).
Start at ``run``: every verb and study that runs trials calls it.
"""
