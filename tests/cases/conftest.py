"""The option --cases and the totals at the end of a run over rule cases."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.cases.case import load_cases

DEFAULT = Path(__file__).parent / "rules"
KIND, CUT = "case_kind", "case_cut"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=Path, default=DEFAULT, metavar="DIR", help="folder of rule cases to run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--cases", DEFAULT)
        cases = load_cases(folder)
        if not cases:
            raise pytest.UsageError(f"There are no rule cases in {folder}.")
        metafunc.parametrize("case", cases, ids=[case.id for case in cases])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Totals per kind, then what was skipped or cut and why."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = dict(report.user_properties)
            if KIND not in properties:
                continue
            totals[properties[KIND]][outcome] += 1
            if outcome == "skipped":
                reasons[f"skipped, {properties[KIND]}: {report.longrepr[2].removeprefix('Skipped: ')}"] += 1
            if CUT in properties:
                reasons[f"partly run, {properties[KIND]}: {properties[CUT]}"] += 1
    if not totals:
        return
    terminalreporter.section("rule cases")
    for kind in sorted(totals):
        counts = ", ".join(f"{totals[kind][outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))
        terminalreporter.write_line(f"{kind}: {counts}")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} {reason}")
