"""Figures of page loads: filmstrips, progress, waterfalls.

Not here: the loads as values (``pages.load``).
Start at ``section``, which chooses and bounds what a report shows.
"""
