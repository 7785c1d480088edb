"""What a match gave, as a table of plain text."""

from node.matches.match_result import MatchResult, Score, elo_of, share_interval
from node.matches.move_times import GRACE_S
from protocol.words import counted

HEAD = ("", "games", "wins", "draws", "losses", "score", "Elo (95 %)")


def match_table(result: MatchResult) -> str:
    """All games and those of each colour, Black's share by komi, how many games differ, times, faults, and the test."""
    rows = [HEAD, _row("all games", result.total)]
    rows += [
        _row(name, score) for name, score in (("as black", result.black), ("as white", result.white)) if score.games
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [f"{result.names[0]} against {result.names[1]}"]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    for komi_half, score in result.komi:
        low, high = share_interval(score.share, score.games)
        drawn = f", {score.draws} drawn" if score.draws else ""
        lines.append(
            f"  komi {komi_half / 2:g}: black wins {score.wins} of {score.games}{drawn} "
            f"({100 * score.share:.0f} %, {100 * low:.0f} to {100 * high:.0f} %)"
        )
    lines.append(f"  {counted(result.different, 'different game')} of {result.total.games}")
    if result.time_s is not None:
        lines.append(f"  {result.time_s:g} s a move: the same command gives other games")
    for name, times in zip(result.names, result.times or (), strict=False):
        late = f"{times.late} of {counted(times.moves, 'move')} took longer than that and {GRACE_S:g} s"
        lines.append(f"  {name}: {times.mean_s:.2f} s a move, {times.longest_s:.2f} s at most; {late}")
    if result.disputes:
        lines.append(f"  {counted(result.disputes, 'game')} counted by the rules, as the engines did not agree")
    for name, games, reason in result.forfeits:
        lines.append(f"  {name} lost {counted(games, 'game')} by a fault, at last: {reason}")
    if result.llr is not None:
        lines.append(f"  sequential test: {result.verdict} (llr {result.llr:.2f})")
    return "\n".join(lines)


def _row(name: str, score: Score) -> tuple[str, ...]:
    counts = (str(each) for each in (score.games, score.wins, score.draws, score.losses))
    return (name, *counts, f"{100 * score.share:.1f} %", _elo(score))


def _elo(score: Score) -> str:
    """With its error; where all games were won, or lost, the end of the interval that is finite; "-" below two games."""
    elo, error = elo_of(score.wins, score.draws, score.losses)
    if score.games < 2:
        return "-"
    if score.wins == score.games:
        return f"above {round(elo - error):+d}"
    if score.losses == score.games:
        return f"below {round(elo + error):+d}"
    return f"{round(elo):+d} +- {error:.0f}"
