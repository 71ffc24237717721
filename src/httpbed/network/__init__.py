"""Networks: from the description of a topology to the commands and the emulator that make it.

In: addresses, routes, the emulator's configuration, the kernel backends, the packets' expected
fates (``fates``), bounds, calibration (``calibration/``) and ``httpbed link`` (``shell/``).
Out: what an experiment may say of a link (``experiment.impairments``) and the checks of a trial
(``trial.checks``). Start at :mod:`httpbed.network.plan`.
"""
