"""The parts of the directory: Kademlia messages, contacts, provider records, and dials that strangers suggest."""
