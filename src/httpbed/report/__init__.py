"""Reports: findings as tables, sentences and figures, on a terminal and in one HTML file.

Not here: what a campaign shows (``analysis``), what is on disk (``store``). No module needs Linux.
Start at ``publish``, which the verbs call; ``pages`` draws page loads.
"""
