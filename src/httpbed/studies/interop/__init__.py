"""Whether implementations do what their recipes promise, each with suitable counterparts."""
