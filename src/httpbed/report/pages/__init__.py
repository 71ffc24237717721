"""Page loads in reports: what was seen of a page when, and what it waited for."""
