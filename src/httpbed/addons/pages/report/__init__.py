"""Figures of page loads: films, filmstrips, progress, resources, waterfalls.

Not here: the loads as values (``pages.load``).
Start at ``section``, which chooses and bounds what a report shows.
"""
