"""Whether a sender's congestion control behaves as its name says: networks, run, judgement."""
