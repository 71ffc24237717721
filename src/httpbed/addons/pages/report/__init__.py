"""Figures of page loads: films, waterfalls, progress, heat maps.

Not here: the loads as values (``web.load``, ``analysis.loads``).
Start at ``section``, which chooses and bounds what a report shows.
"""
