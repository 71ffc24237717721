"""Features of their own, one folder each: what it measures, runs, analyses, reports, and its verb.

The core imports none of them (``base/addon.py`` finds them). Whoever deletes a folder deletes the
feature.
"""
