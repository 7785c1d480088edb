"""The C engine and its typed Python face: rules and games, the exact network, the search, self-play and replay.

The public header is `include/go_engine.h`; `native._engine` is its cffi binding, and only modules of this package
touch it. Nothing here does I/O beyond the bytes it is given, but for the engine process (`native.serve`), which has its
standard streams; torch is not needed.
"""
