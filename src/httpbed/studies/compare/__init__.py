"""``httpbed compare``: from one command line to an experiment file that anyone can go on from.

Not here: running it (``campaign``) and judging it (``analysis``), as for any experiment.
Start at ``comparison``.
"""
