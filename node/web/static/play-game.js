// A game against a release, as this browser keeps it: its moves are all there is, for the server knows the rules.

import { pointName } from './board.js'

const PREFIX = 'gonode/play/'
const SMALLEST = 7
const LETTERS = 'abcdefghijklmnopqrs'

/**
 * `human` is 1 for Black, -1 for White; `resigned` who gave up, 0 nobody; a move is a point, the pass is size * size.
 * @typedef {{size: number, komi: number, human: number, visits: number, moves: number[], resigned: number}} Game
 */

/**
 * Whose turn it is: 1 or -1.
 * @param {readonly number[]} moves
 */
export function sideToMove (moves) {
  return moves.length % 2 === 0 ? 1 : -1
}

/**
 * The game before the visitor's last move; null where there is none.
 * @param {Game} game
 * @returns {Game | null}
 */
export function undone (game) {
  if (game.resigned !== 0) return { ...game, resigned: 0 }
  const moves = game.moves.slice(0, -1)
  while (moves.length > 0 && sideToMove(moves) !== game.human) moves.pop()
  return game.moves.length > 0 && sideToMove(moves) === game.human ? { ...game, moves } : null
}

/**
 * The game that this browser kept, null where there is none or it is no game.
 * @param {string} release
 * @returns {Game | null}
 */
export function kept (release) {
  try {
    const game = JSON.parse(localStorage.getItem(PREFIX + release) ?? 'null')
    return isGame(game) ? game : null
  } catch {
    return null // this browser keeps nothing, or something else
  }
}

/**
 * @param {string} release
 * @param {Game} game
 */
export function keep (release, game) {
  try {
    localStorage.setItem(PREFIX + release, JSON.stringify(game))
  } catch {
    // this browser keeps nothing
  }
}

/**
 * The game as SGF, FF[4]; `result` is empty while it goes on.
 * @param {Game} game
 * @param {{name: string, rules: string, result: string}} about
 */
export function toSgf ({ size, komi, human, visits, moves }, { name, rules, result }) {
  const partner = `${name} (${visits} visits)`
  const head = {
    FF: '4', GM: '1', CA: 'UTF-8', AP: 'gonode', SZ: `${size}`, KM: `${komi}`, RU: rules, RE: result,
    PB: human === 1 ? 'Visitor' : partner, PW: human === 1 ? partner : 'Visitor'
  }
  const root = Object.entries(head).filter(([, text]) => text !== '').map(([key, text]) => `${key}[${text.replace(/[\\\]]/g, '\\$&')}]`)
  const nodes = moves.map((move, at) => {
    const point = move === size * size ? '' : `${LETTERS[move % size]}${LETTERS[Math.floor(move / size)]}`
    return `;${at % 2 === 0 ? 'B' : 'W'}[${point}]`
  })
  return `(;${root.join('')}${nodes.join('')})\n`
}

/**
 * Black, White.
 * @param {number} side
 */
export function colourName (side) {
  return side === 1 ? 'Black' : 'White'
}

/**
 * Black D4, White passes.
 * @param {number} side
 * @param {number} move
 * @param {number} size
 */
export function moveWords (side, move, size) {
  return move === size * size ? `${colourName(side)} passes` : `${colourName(side)} ${pointName(move, size)}`
}

/**
 * @param {unknown} value
 * @returns {value is Game}
 */
function isGame (value) {
  if (typeof value !== 'object' || value === null) return false
  const game = /** @type {{[name: string]: unknown}} */ (value)
  const { size, human, resigned, moves } = game
  const isBoard = Number.isInteger(size) && Number(size) >= SMALLEST && Number(size) <= LETTERS.length
  return isBoard && typeof game['komi'] === 'number' && typeof game['visits'] === 'number' &&
    (human === 1 || human === -1) && (resigned === 0 || resigned === 1 || resigned === -1) &&
    Array.isArray(moves) && moves.every(move => Number.isInteger(move))
}
