"""One page load as values, its timing and Speed Index, read from what the browser driver wrote.

Not here: driving the browser (``pages/programs``), HAR files (``pages/har``).
Start at ``browser_load`` (the values); ``driver_output`` reads them, ``timing`` measures.
"""
