// One finished game as the server's JSON has it (docs/pages.md), position after position: `GameRecord`. Captures are the server's; no rules are here.

import { pointName } from './board.js'

const POLICY_SUM = 65535
const FAINT_BELOW = 25
const HEAT_STEPS = 6
const HEAT_RATIO = 3 // each step of colour is so many times the one before
const MISTAKE = 0.1
const MOST_HINTS = 8

/**
 * @typedef {{kind: string, visits: number[], policy: number[] | null, black_winrate: number, black_score: number, ownership?: number[] | null}} Search
 * @typedef {{point: number, colour: string, captured: number[], search: Search | null}} Move
 * @typedef {{size: number, result: string, moves: Move[], ownership?: number[] | null}} Game
 * @typedef {import('./board.js').Disc} Disc
 */

export class GameRecord {
  #game
  /** @type {Int8Array[]} */
  #stones = []
  /** @type {Int16Array[]} plies that made the stones */
  #made = []

  /** @param {Game} game */
  constructor (game) {
    this.#game = game
    const points = game.size * game.size
    let stones = new Int8Array(points)
    let made = new Int16Array(points)
    this.#stones.push(stones)
    this.#made.push(made)
    for (const [at, { point, colour, captured }] of game.moves.entries()) {
      stones = stones.slice()
      made = made.slice()
      if (point < points) {
        stones[point] = colour === 'black' ? 1 : -1
        made[point] = at + 1
      }
      for (const each of captured) stones[each] = made[each] = 0 // the move's own too, where it took its own stones off
      this.#stones.push(stones)
      this.#made.push(made)
    }
  }

  get size () {
    return this.#game.size
  }

  /** How many moves were played. */
  get length () {
    return this.#game.moves.length
  }

  /** Whether anything in it says whose a point is. */
  get hasOwnership () {
    return Boolean(this.#game.ownership?.length) || this.#game.moves.some(({ search }) => search?.ownership)
  }

  /**
   * @param {number} ply moves played
   * @returns {Int8Array}
   */
  stones (ply) {
    return this.#stones[ply] ?? new Int8Array()
  }

  /**
   * The point of the last move; null before the first and after a pass.
   * @param {number} ply
   */
  last (ply) {
    const point = this.#game.moves[ply - 1]?.point ?? this.size ** 2
    return point === this.size ** 2 ? null : point
  }

  /**
   * By which move each stone came.
   * @param {number} ply
   */
  numbers (ply) {
    return Array.from(this.#made[ply] ?? [], (number) => number || null)
  }

  /**
   * Six steps of the policy with which the next move was searched; null where there is none.
   * @param {number} ply
   */
  heat (ply) {
    return this.#search(ply)?.policy?.slice(0, -1).map((value) => heatOf(value / POLICY_SUM)) ?? null
  }

  /**
   * What the search for the next move looked at, on the board.
   * @param {number} ply
   * @returns {Disc[]}
   */
  discs (ply) {
    const visits = this.#search(ply)?.visits.slice(0, -1) ?? []
    const most = Math.max(0, ...visits)
    const found = [...visits.entries()].filter(([, count]) => count > 0)
    const best = visits.indexOf(most)
    return found.map(([point, count]) => ({ point, visits: count, winrate: this.#rateAfter(ply, point), best: point === best, faint: count < FAINT_BELOW }))
  }

  /**
   * The same as a list, the most visited first, passes too.
   * @param {number} ply
   */
  hints (ply) {
    const search = this.#search(ply)
    if (search === null) return []
    const sum = search.visits.reduce((before, count) => before + count, 0)
    const found = [...search.visits.entries()].filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a)
    return found.slice(0, MOST_HINTS).map(([point, visits]) => ({
      name: pointName(point, this.size),
      visits,
      share: visits / sum,
      policy: search.policy === null ? null : (search.policy[point] ?? 0) / POLICY_SUM,
      isPlayed: point === this.#game.moves[ply]?.point
    }))
  }

  /**
   * Whose each point is, 1 Black's to -1 White's; null where nobody said.
   * @param {number} ply
   */
  ownership (ply) {
    return this.#search(ply)?.ownership ?? (ply === this.length && this.#game.ownership?.length ? this.#game.ownership : null)
  }

  /** The curves of the graph. */
  points () {
    return Array.from({ length: this.length + 1 }, (_, ply) => {
      const search = this.#search(ply)
      return { ply, winrate: search?.black_winrate ?? null, score: search?.black_score ?? null }
    })
  }

  /** Plies after moves by which the player's win rate fell by 10 % or more, as the next search saw it. */
  mistakes () {
    return this.#game.moves.flatMap((_, at) => this.#loss(at) >= MISTAKE ? [at + 1] : [])
  }

  /**
   * The last move in words.
   * @param {number} ply
   */
  moveWords (ply) {
    const move = this.#game.moves[ply - 1]
    if (move === undefined) return `Before the first of ${this.length} moves`
    const { point, colour, captured } = move
    const taken = captured.length === 0 ? '' : `, captures ${captured.length}`
    const player = colour === 'black' ? 'Black' : 'White'
    const loss = this.#loss(ply - 1)
    const lost = loss >= MISTAKE ? `; ${player}'s win rate falls by ${(100 * loss).toFixed(0)} %` : ''
    const end = ply === this.length ? `. The game ends: ${this.#game.result}` : ''
    return `Move ${ply} of ${this.length}: ${player} ${pointName(point, this.size)}${taken}${lost}${end}`
  }

  /**
   * What the search for the next move thought, in words.
   * @param {number} ply
   */
  thoughtWords (ply) {
    const search = this.#search(ply)
    if (search === null) return ply === this.length ? 'After the last move nothing was searched.' : 'The next move is drawn, not searched.'
    const visits = search.visits.reduce((before, count) => before + count, 0)
    const score = Math.abs(search.black_score).toFixed(1)
    const ahead = `${search.black_score < 0 ? 'White' : 'Black'} ahead by ${score}`
    const point = this.#game.moves[ply]?.point ?? 0
    return `Black's win rate ${(100 * search.black_winrate).toFixed(0)} %, ${ahead}; ${search.kind} search, ${visits} visits; next ${pointName(point, this.size)}`
  }

  /** @param {number} ply */
  #search (ply) {
    return this.#game.moves[ply]?.search ?? null
  }

  /**
   * The win rate of who plays next after a move: known of the move that was played, from the search after it.
   * @param {number} ply
   * @param {number} point
   */
  #rateAfter (ply, point) {
    const move = this.#game.moves[ply]
    const after = this.#search(ply + 1)
    if (move === undefined || after === null || move.point !== point) return null
    return move.colour === 'black' ? after.black_winrate : 1 - after.black_winrate
  }

  /** @param {number} at the move's place in the list */
  #loss (at) {
    const [before, after] = [this.#search(at), this.#search(at + 1)]
    if (before === null || after === null) return 0
    return (before.black_winrate - after.black_winrate) * (this.#game.moves[at]?.colour === 'black' ? 1 : -1)
  }
}

/**
 * 6 from a third on, 5 from a ninth on, ..., 0 below a 729th.
 * @param {number} share
 */
function heatOf (share) {
  return Math.max(0, HEAT_STEPS - Math.floor(-Math.log(share) / Math.log(HEAT_RATIO)))
}
