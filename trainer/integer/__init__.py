"""From the float network to the exact integer one, and what that costs."""
