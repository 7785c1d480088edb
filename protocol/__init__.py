"""Records and their bytes: what peers exchange, what the log holds, what is signed.

No input or output, no clock, no torch, no C. One module a noun; every wire format has a page under `docs/spec/`.
"""
