"""Hand-overs of a trial: their steps, their execution, what they showed and what they cost."""
