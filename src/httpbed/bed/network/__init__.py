"""Networks: from the description of a topology to the commands and the emulator that make it.

Not here: the values of impairments (``experiment.impairments``), trials (``trial``).
Start at ``network_plan``.
"""
