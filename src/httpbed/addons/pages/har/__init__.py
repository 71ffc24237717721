"""HTTP archives (HAR 1.2): a strict reader for the files of several tools, and a writer.

Not here: replaying a HAR file as a site (``sites/replay``), page loads of a campaign as HAR files
(``loads_export``).
Start at ``har_file`` (entries, and the page loads that they are).
"""
