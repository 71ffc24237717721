"""A trial's life: from an empty network to a finished directory, with its evidence judged."""
