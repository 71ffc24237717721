"""Reports: findings as tables, sentences and figures, on a terminal and in one HTML file.

Not here: what a campaign says (analysis) and what is on disk (store). Nothing here needs Linux.
Start at publish.py, which the verbs call; pages/ draws page loads.
"""
