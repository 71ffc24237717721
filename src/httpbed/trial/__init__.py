"""One trial: its plan, its run in a sandbox, the evidence it leaves and the verdict on it.

Not here: which trials run when (``campaign``), and what programs do and report (``programs``).
Start at ``plan``, ``run.runner`` and ``verdict``, in this order.
"""
