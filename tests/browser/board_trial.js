// A board to play on, without rules: what is played stands. For tests.

import { Board, pointName } from '/static/board.js'

const query = new URLSearchParams(location.search)
const size = Number(query.get('size') ?? 9)
const stones = new Int8Array(size * size)
let toPlay = 1

const board = new Board(document.getElementById('room'), { size, coordinates: query.get('coordinates') !== 'no', onPlay: play })
const heat = query.has('heat') ? Array.from(stones, (_, point) => point % 7) : null
const ownership = query.has('ownership') ? Array.from(stones, (_, point) => point % 3 - 1) : null
const discs = query.has('discs')
  ? [{ point: 0, visits: 1234, winrate: 0.5, best: true }, { point: 4, visits: 30, winrate: 0.25 }, { point: 8, visits: 2, winrate: null, faint: true }]
  : []
board.show({ stones, toPlay, heat, ownership, discs })

function play (point) {
  document.getElementById('played').textContent += ` ${pointName(point, size)}`
  stones[point] = toPlay
  toPlay = -toPlay
  board.show({ stones, last: point, toPlay, heat, ownership })
}
