"""Starting programs in a sandbox, talking to them, and handling the files that they leave.

Not here: the sandbox itself (``crates/httpbed-sandbox``) and what runs in it (``programs``,
``network``).
Start at ``supervisor.sandbox``.
"""
