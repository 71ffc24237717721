"""The bed of a trial: this machine, the programs' root, the sandbox, and the emulated network.

Start at ``doctor.py`` (what this machine can do), ``sandbox/supervisor.py`` (processes),
``network/network_plan.py`` (hosts and links) and ``toolbox/root_filesystem.py`` (programs under
test).
"""
