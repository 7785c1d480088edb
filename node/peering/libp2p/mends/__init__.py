"""What py-libp2p needs before strangers may reach it."""
