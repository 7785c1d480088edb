"""A report as one HTML page that needs nothing else: charts as inline SVG, each with a sentence and a table of its numbers.

Page: docs/commands.md ("gonode report"), design of pages. Light or dark as the reader's system is, made for a phone first.
Its policy forbids it to load anything. Every word that comes from the log is escaped.
"""

import time
from collections.abc import Sequence
from html import escape
from typing import Final

from node.reports.chart import Chart
from node.reports.drawing import DARK, LIGHT, css_variables, to_svg
from node.reports.facts import RunFacts
from protocol.words import counted

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE: Final = """
*{box-sizing:border-box}
:root{color-scheme:light dark;--page:#fff;--card:#f5f6f7;LIGHT}
@media(prefers-color-scheme:dark){:root{--page:#121416;--card:#1b1e21;DARK}}
body{margin:0 auto;max-width:86rem;padding:1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:0}code{overflow-wrap:anywhere}
dl{display:flex;flex-wrap:wrap;gap:.25rem 2rem;margin:1rem 0}dt{font-size:.85rem}dd{margin:0;font-weight:600}
main{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr))}
section{background:var(--card);border-radius:.5rem;padding:1rem;min-width:0}
figure{margin:0}svg{display:block;width:100%;height:auto}svg text{font-family:system-ui,sans-serif!important}
figcaption{font-size:.9rem}
summary{min-height:44px;padding:.6rem 0;cursor:pointer}
.table{overflow-x:auto;max-height:24rem}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600}
th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--faint)}
thead th{position:sticky;top:0;background:var(--card)}
"""


def to_html(facts: RunFacts, charts: Sequence[Chart]) -> str:
    """The whole page; raises MatplotlibMissing."""
    style = _STYLE.replace("LIGHT", css_variables(LIGHT)).replace("DARK", css_variables(DARK))
    title = f"Run {escape(facts.name)}"
    sections = "\n".join(_section(chart) for chart in charts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{escape(source_of(facts))}</p>
{_numbers(facts)}
</header>
<main>
{sections or "<p>Nothing is logged yet that a chart could show.</p>"}
</main>
</body>
</html>
"""


def source_of(facts: RunFacts) -> str:
    """What a report speaks for, in sentences: run, log, times, and what was sampled."""
    said = f"Run {facts.run[:16]} as its log says at {counted(facts.log_size, 'entry', 'entries')}"
    if facts.first_unix_s is not None and facts.last_unix_s is not None:
        said += f", {_utc(facts.first_unix_s)} to {_utc(facts.last_unix_s)}"
    sample = facts.sample
    said += (
        f". Of {counted(sample.accepted, 'accepted batch', 'accepted batches')}, {sample.read} were opened for lengths"
    )
    said += " and results of their games"
    if sample.missing:
        said += f"; {sample.missing} more were to be, and are not in this folder"
    return said + "."


def _numbers(facts: RunFacts) -> str:
    last = facts.data[-1] if facts.data else None
    numbers = {
        "games": f"{facts.verification.games:,}",
        "plies": f"{last.plies if last is not None else 0:,}",
        "contributors": f"{len(facts.shares):,}",
        "training cycles": f"{len(facts.cycles):,}",
        **_given_up(facts),
        "releases": f"{len(facts.releases) - 1:,}",
        "newest release": facts.releases[-1],
    }
    items = "".join(f"<div><dt>{word}</dt><dd>{escape(text)}</dd></div>" for word, text in numbers.items())
    return f"<dl>{items}</dl>"


def _given_up(facts: RunFacts) -> dict[str, str]:
    """The cycles without a candidate, where there are some."""
    named = ", ".join(f"{each.cycle} ({each.reason})" for each in facts.given_up)
    return {"cycles given up": named} if named else {}


def _section(chart: Chart) -> str:
    name, title, summary = escape(chart.name), escape(chart.title), escape(chart.summary)
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in chart.head)
    rows = "\n".join(
        "<tr>"
        + f'<th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in chart.rows
    )
    return f"""<section id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title">{title}</h2>
<figure>
<div role="img" aria-labelledby="{name}-summary">{to_svg(chart)}</div>
<figcaption id="{name}-summary">{summary}</figcaption>
</figure>
<details>
<summary>Numbers</summary>
<div class="table" tabindex="0"><table><caption>{title}</caption>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
</details>
</section>"""


def _utc(unix_s: int) -> str:
    return time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(unix_s))
