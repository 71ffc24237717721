"""Networks: from the description of a topology to the commands and the emulator that make it.

Also calibration (``calibration``) and ``httpbed link`` (``shell``).
Not here: the values of impairments (``experiment.impairments``), trials (``trial``).
Start at ``plan``.
"""
