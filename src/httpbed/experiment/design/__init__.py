"""From an experiment to the ordered, seeded list of its trials; pure."""
