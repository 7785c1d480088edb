"""How a node talks to its peers: transport and its hardening, calls, links, gossip, and the exchange of log and blobs."""
