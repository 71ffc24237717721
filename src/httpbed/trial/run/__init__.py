"""Runs one attempt: its processes, from the empty network to the collected files.

Not here: what to start (``trial.plan``) and what the files mean (``trial.evidence``).
Start at ``runner``.
"""
