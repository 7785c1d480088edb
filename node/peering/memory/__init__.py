"""The network in memory, on trio's clock: what simulations run on."""
