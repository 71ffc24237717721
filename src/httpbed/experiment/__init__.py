"""Values only: experiments, their factors, scenarios and trials, metrics, units and errors.

Not here: anything that reads a clock, the machine or a file, except the TOML files beside it.
Start at ``parser``: text -> ``document`` -> ``experiment`` -> treatments (``factorial``) ->
``scenario`` -> trials (``design``, ``trial``).
"""
