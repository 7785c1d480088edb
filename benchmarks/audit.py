"""What an audit of a run's public folder costs: `python -m benchmarks.audit [--quick] [--json]`."""

import time

from benchmarks._run import arguments, show
from benchmarks._world import run_with
from tests.verification.memory_reader import MemoryReader
from verification.audit.audit import AuditOptions, Check, audit


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    world = run_with(40 if given.quick else 600)
    files = world.public()
    rows: list[dict[str, str | float]] = []
    last = time.perf_counter()

    def answered(check: Check) -> None:
        nonlocal last
        now = time.perf_counter()
        rows.append({"check": check.name, "seconds": now - last, "ok": str(check.ok)})
        last = now

    started = last
    report = audit(MemoryReader(files), AuditOptions(kernel=given.kernel), answered)
    if not report.ok:
        raise SystemExit("The audit of an honest run failed.")
    shape = f"all, {len(world.entries)} entries, {len(world.state.batches.all)} batches"
    rows.append({"check": shape, "seconds": time.perf_counter() - started, "ok": str(report.ok)})
    show(rows, given.json)


if __name__ == "__main__":
    main()
