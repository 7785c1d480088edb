"""Being a good guest: when a node plays, and how much, as whoever owns the machine wants it."""
