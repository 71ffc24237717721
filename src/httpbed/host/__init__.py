"""This machine: its facts and capabilities, sandboxes, and installed programs.

Not here: networks of a trial (``network``) and recipes (``programs``). Start in ``doctor`` for what
the machine can do, ``sandbox.supervisor`` for running programs, ``packages.toolbox`` for installing
them.
"""
