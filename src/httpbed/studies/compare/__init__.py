"""From one line to an experiment file: what ``httpbed compare`` asks for; pure."""
