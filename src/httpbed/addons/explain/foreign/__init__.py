"""Explains what others recorded: captures, qlogs, netlogs, HAR files.

Not here: the rules, which are those of trials (``division``).
Start at ``evidence_file``; ``one_sided`` makes a transfer of what one place saw.
"""
