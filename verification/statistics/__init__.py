"""What games look like: statistics per contributor that raise its share of replay and never convict.

Pure, from parsed batches: `profile` counts games, `residual` compares one contributor with all others, `tails` compares
what it submitted with what others filled in for it, `repeats` counts games that another contributor played before, and
`suspicion` says what follows; `review` does all of it for everybody. It advises the coordinator, whose logged scrutiny is
what counts: nobody else needs to reach the same numbers.
"""
