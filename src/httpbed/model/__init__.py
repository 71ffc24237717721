"""Values only: what an experiment says, what a trial is, what was observed.

Nothing here reads a clock, a file or the machine.
"""
