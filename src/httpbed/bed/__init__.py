"""The bed of a trial: this machine, the programs' root, the sandbox, and the emulated network.

Start at ``sandbox/supervisor.py`` (processes), ``network/plan.py`` (hosts and links) and
``toolbox/toolbox.py`` (programs under test).
"""
