// How Sabaki reads a line of an analysis: its src/modules/analysis.js (MIT), with its expressions.

/** The variations of a line `info move ...`; win rates are per cent, of floats or of ten-thousandths. */
export function parseAnalysis (line, board, format) {
  return line
    .split(/\s*info\s+/)
    .slice(1)
    .map((text) => parseVariation(text.trim()))
    .filter((each) => each?.move != null && each.winrate != null && /^[A-Za-z]\d+$/.test(each.move))
    .map(({ move, visits, winrate, scoreLead, pv }) => ({
      move,
      vertex: board.parseVertex(move),
      visits: +visits,
      winrate: format === 'float' ? +winrate * 100 : +winrate / 100,
      scoreLead: scoreLead == null ? null : +scoreLead,
      moves: pv.map((each) => board.parseVertex(each))
    }))
}

function parseVariation (text) {
  const line = text.match(/(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$/)
  if (line == null) {
    return null
  }
  const tokens = text.slice(0, line.index).trim().split(/\s+/).slice(0, -1)
  const found = {}
  for (let at = 0; at < tokens.length; at += 2) {
    found[tokens[at]] = tokens[at + 1]
  }
  const passes = line[0].indexOf('pass')
  found.pv = line[0].slice(0, passes < 0 ? Infinity : passes).split(/\s+/).filter((each) => each.length >= 2)
  return found
}
