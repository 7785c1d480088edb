// The page of a game against a release: the visitor's moves, the server's answers, and what may be done between them.
// Nothing is known of rules here: each position is the server's, and a move that it refuses was never played.

import { Board, pointName } from './board.js'
import { byId, element } from './elements.js'
import { colourName, keep, kept, moveWords, sideToMove, toSgf, undone } from './play-game.js'
import { ask, Refusal } from './play-server.js'

/** @typedef {import('./play-game.js').Game} Game */
/** @typedef {import('./play-server.js').Answer} Answer */
/** @typedef {import('./play-server.js').Search} Search */

const USUAL_VISITS = 100
const FAINT_BELOW = 25
const MOST_CANDIDATES = 6
const MOST_DISCS = 16
const POLICY_SUM = 65535
const ENDS = new Map([['passes', 'Both passed'], ['settled', 'Every area is settled'], ['cap', 'The rules end so long a game']])

const table = byId('game')
const { release = '', name = '', number = '', rules = '' } = table.dataset
const analysis = field('analysis')
const size = choice('size')
const komi = field('komi')
const visits = choice('visits')

/** @type {Game | null} */
let game = null
/** @type {Answer | null} what is on the board */
let shown = null
/** @type {Search | null} of the position on the board, for whoever is to move there */
let search = null
/** @type {Board | null} */
let board = null
let question = new AbortController()
let isAsking = false

size.addEventListener('change', offerBoard)
byId('new').addEventListener('submit', (event) => {
  event.preventDefault()
  const colour = document.querySelector('input[name=colour]:checked')
  begin({ size: Number(size.value), komi: Number(komi.value), visits: Number(visits.value), moves: [], resigned: 0,
    human: colour instanceof HTMLInputElement && colour.value === '-1' ? -1 : 1 })
})
byId('back').addEventListener('click', () => showSetup(false))
byId('another').addEventListener('click', () => showSetup(true))
byId('pass').addEventListener('click', () => game !== null && play(game.size * game.size))
byId('undo').addEventListener('click', undo)
byId('resign').addEventListener('click', resign)
byId('sgf').addEventListener('click', download)
byId('again').addEventListener('click', () => goOn())
analysis.addEventListener('change', () => goOn())

offerBoard()
const before = kept(release)
if (before === null) {
  byId('setup').hidden = false
} else {
  begin(before)
}

/** What the chosen board offers: its komi, and visits as far as the network allows. */
function offerBoard () {
  const offer = size.selectedOptions[0]?.dataset
  const komis = offer?.['komis'] ?? ''
  komi.value = offer?.['komi'] ?? '0'
  komi.max = offer?.['mostKomi'] ?? '0'
  komi.min = `-${komi.max}`
  byId('komis').textContent = komis === '' ? 'This run has no games on such a board.' : `The run plays this board at komi ${komis}.`
  const numbers = (offer?.['visits'] ?? '').split(' ').map(Number)
  const chosen = Math.max(...numbers.filter(each => each <= USUAL_VISITS))
  visits.replaceChildren(...numbers.map(each => new Option(`${each}`, `${each}`, false, each === chosen)))
}

/** @param {boolean} isSetup */
function showSetup (isSetup) {
  byId('setup').hidden = !isSetup
  table.hidden = isSetup
  byId('back').hidden = game === null
  if (isSetup) size.focus()
}

/** @param {Game} next */
function begin (next) {
  game = next
  shown = search = null
  const partner = `release ${number}, ${next.visits} visits a move`
  byId('black').textContent = next.human === 1 ? 'you' : partner
  byId('white').textContent = next.human === 1 ? partner : 'you'
  showSetup(false)
  board = new Board(byId('board'), { size: next.size, onPlay: play })
  board.show({ stones: new Int8Array(next.size * next.size) })
  keep(release, next)
  goOn()
}

/** @param {number} move of the visitor */
function play (move) {
  if (game === null || isAsking || isOver() || sideToMove(game.moves) !== game.human) return
  goOn({ ...game, moves: [...game.moves, move] })
}

function undo () {
  const less = game === null ? null : undone(game)
  if (less !== null) goOn(less)
}

function resign () {
  if (game === null || isOver()) return
  goOn({ ...game, resigned: game.human })
}

/**
 * Asks for the position of the game, or of `next`, which the game then is; then for the release's move if it is its turn.
 * What was asked before is of no use any more.
 * @param {Game | null} [next]
 */
async function goOn (next = game) {
  if (next === null) return
  question.abort()
  const { signal } = question = new AbortController()
  setAsking(true)
  refuse('')
  say(shown === null ? 'A moment' : byId('status').textContent ?? '')
  try {
    await follow(next, signal)
  } catch (error) {
    if (signal.aborted) return
    setAsking(false)
    refuse(error instanceof Error ? error.message : String(error), !(error instanceof Refusal && error.isIllegal))
  }
}

/**
 * @param {Game} next
 * @param {AbortSignal} signal
 */
async function follow (next, signal) {
  let now = next
  let answer = await asked(now, 0, signal)
  const isNew = shown !== null && now.moves.length > (game?.moves.length ?? 0)
  settle(now, answer, isNew ? [spoken(now, answer)] : [])
  if (!isOver() && sideToMove(now.moves) !== now.human) {
    say(`${colourName(-now.human)} is thinking`)
    answer = await asked(now, now.visits, signal)
    now = answer.resigns ? { ...now, resigned: -now.human } : { ...now, moves: [...now.moves, answer.move ?? 0] }
    settle(now, answer, answer.resigns ? [] : [spoken(now, answer)])
  }
  if (analysis.checked && !isOver()) {
    search = (await asked(now, now.visits, signal, true)).search
    draw()
  }
  setAsking(false)
}

/**
 * Until it is answered, the visitor's moves are not taken; a screen reader is told so.
 * @param {boolean} isNow
 */
function setAsking (isNow) {
  isAsking = isNow
  table.setAttribute('aria-busy', String(isNow))
}

/**
 * @param {Game} next
 * @param {number} visits
 * @param {AbortSignal} signal
 * @param {boolean} [analysis]
 */
function asked ({ size, komi, moves }, visits, signal, analysis = false) {
  return ask(release, { size, komi, moves, visits, analysis }, signal, say)
}

/**
 * The game is this now, and the server's answer is what the board shows; what a screen reader says begins with `words`.
 * @param {Game} next
 * @param {Answer} answer
 * @param {string[]} words
 */
function settle (next, answer, words) {
  game = next
  shown = answer
  search = null
  keep(release, next)
  setAsking(!isOver() && sideToMove(next.moves) !== next.human)
  say(statusOf(next, answer))
  draw()
  board?.say([...words, statusOf(next, answer)].join('. '))
}

function draw () {
  if (game === null || shown === null || board === null) return
  const { moves, human } = game
  const points = game.size * game.size
  const last = moves.at(-1) ?? points
  const { stones, end, prisoners } = shown
  const hadFocus = byId('board').contains(document.activeElement)
  board.show({
    stones,
    last: last < points ? last : null,
    discs: search === null ? [] : discs(search, points),
    ownership: end?.owner ?? null,
    numbers: end === null ? null : crosses(end.dead, points),
    toPlay: isOver() ? null : human
  })
  if (hadFocus && isOver()) byId('status').focus()
  byId('course').textContent = `${game.size} × ${game.size}, komi ${game.komi}, move ${moves.length}; ` +
    `Black took ${prisoners[0] ?? 0}, White ${prisoners[1] ?? 0}`
  for (const id of ['pass', 'resign']) button(id).disabled = isOver() || sideToMove(moves) !== human
  button('undo').disabled = undone(game) === null
  showThought()
}

/** What the search thinks, in words and as a table. */
function showThought () {
  byId('thought').hidden = search === null
  if (search === null || game === null) return
  const { size, moves } = game
  const { visits, policy, black_winrate: winrate, black_score: score } = search
  const leader = score < 0 ? 'White' : 'Black'
  byId('standing').textContent = `${colourName(sideToMove(moves))} to move. Black wins ${(100 * winrate).toFixed(0)} % of such games; ` +
    `${leader} is ahead by ${Math.abs(score).toFixed(1)} points, komi counted.`
  byId('candidates').replaceChildren(...best(visits).slice(0, MOST_CANDIDATES).map(point => element('tr', {},
    element('th', { scope: 'row' }, pointName(point, size)),
    element('td', { class: 'number' }, `${visits[point] ?? 0}`),
    element('td', { class: 'number' }, `${(100 * (policy[point] ?? 0) / POLICY_SUM).toFixed(1)} %`))))
}

/**
 * The moves that have visits, most first.
 * @param {number[]} visits
 */
function best (visits) {
  return [...visits.keys()].filter(point => (visits[point] ?? 0) > 0).sort((a, b) => (visits[b] ?? 0) - (visits[a] ?? 0))
}

/**
 * @param {Search} found
 * @param {number} points
 */
function discs ({ visits }, points) {
  const [first] = best(visits)
  return best(visits).slice(0, MOST_DISCS).filter(point => point < points).map(point => {
    const count = visits[point] ?? 0
    return { point, visits: count, best: point === first, faint: count < FAINT_BELOW && point !== first }
  })
}

/**
 * @param {number[]} dead
 * @param {number} points
 */
function crosses (dead, points) {
  const marks = new Array(points).fill(null)
  for (const point of dead) marks[point] = '×'
  return marks
}

function isOver () {
  return game !== null && (game.resigned !== 0 || (shown?.end ?? null) !== null)
}

/**
 * @param {Game} now
 * @param {Answer} answer
 */
function statusOf ({ human, resigned, moves }, { end }) {
  if (resigned !== 0) return resigned === human ? `You resigned: ${colourName(-human)} wins` : `${colourName(resigned)} resigns: you win`
  if (end === null) return sideToMove(moves) === human ? `Your move, ${colourName(human)}` : `${colourName(-human)} is to move`
  const how = ENDS.get(end.how) ?? 'The game is over'
  if (end.score === 0) return `${how}: a draw`
  const winner = end.score > 0 ? 1 : -1
  return `${how}: ${colourName(winner)} wins by ${Math.abs(end.score)}, ${winner === human ? 'so you win' : 'so you lose'}`
}

/**
 * The last move and what it took.
 * @param {Game} now
 * @param {Answer} answer
 */
function spoken ({ moves, size }, { captured }) {
  const took = captured.length === 0 ? '' : `, takes ${captured.length} ${captured.length === 1 ? 'stone' : 'stones'}`
  return moveWords(-sideToMove(moves), moves.at(-1) ?? 0, size) + took
}

/** @param {string} words */
function say (words) {
  byId('status').textContent = words
}

/**
 * @param {string} sentence
 * @param {boolean} [canRetry]
 */
function refuse (sentence, canRetry = false) {
  byId('refusal').textContent = sentence
  byId('again').hidden = !canRetry
  if (sentence !== '' && game !== null && shown !== null) say(statusOf(game, shown))
}

function download () {
  if (game === null) return
  const loser = game.resigned
  const result = loser === 0 ? shown?.end?.result ?? '' : `${loser === 1 ? 'W' : 'B'}+R`
  const url = URL.createObjectURL(new Blob([toSgf(game, { name, rules, result })], { type: 'application/x-go-sgf' }))
  const link = element('a', { href: url, download: `release-${number}-${game.size}x${game.size}-${game.moves.length}.sgf` })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

/** @param {string} id */
function button (id) {
  return /** @type {HTMLButtonElement} */ (byId(id))
}

/** @param {string} id */
function field (id) {
  return /** @type {HTMLInputElement} */ (byId(id))
}

/** @param {string} id */
function choice (id) {
  return /** @type {HTMLSelectElement} */ (byId(id))
}
