"""Runs one attempt: its processes, from the empty network to the collected files.

Not here: what to start (``trial.attempt_plan``) and what the files mean (``trial.evidence``).
Start at ``runner``.
"""
