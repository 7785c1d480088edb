"""How a node talks to its peers: transport, calls, links and gossip."""
