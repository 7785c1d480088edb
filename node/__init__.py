"""The node: network, disk, roles and commands; the only package that imports trio and libp2p."""
