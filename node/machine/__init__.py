"""This machine's numbers: what `gonode bench` measures, and the threads and games in flight that it found and remembers."""

from node.machine.machine import Machine, load_machine, store_machine

__all__ = ["Machine", "load_machine", "store_machine"]
