"""This machine: its facts and capabilities, sandboxes, and installed programs.

Not here: networks of a trial (``network``) and recipes (``programs``).
Start at ``doctor`` (capabilities), ``sandbox.supervisor`` (runs), ``packages.toolbox`` (installs).
"""
