"""The transport over py-libp2p 0.8.1: restricted, hardened, with quotas."""
