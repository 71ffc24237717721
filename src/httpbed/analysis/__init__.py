"""From the tables of a campaign to samples, estimates and comparisons; pure, and portable."""
