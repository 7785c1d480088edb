"""The learner: weights, optimiser and the states that training goes on from."""
