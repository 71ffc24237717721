"""This machine: facts, load, folders of running processes, and what its kernel permits a user.

Not here: the tests of what a run needs (``bed/doctor.py``).
"""
