"""What a direction of a link can do to packets: a file for each impairment, values only."""
