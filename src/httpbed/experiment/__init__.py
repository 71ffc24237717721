"""Values only: what an experiment says, what a trial is, what was observed.

Nothing here reads a clock or the machine, nor any file but the data that comes with it.
"""
