// The page of one game: a board to step through it, what each search thought, a graph, keys. Facts and moves as text stand in the page without it.

import { Board } from './board.js'
import { byId, element } from './elements.js'
import { GameRecord } from './game-record.js'
import { Graph } from './graph.js'

const LETTERS = 'gonode/letters'
const REST_MS = 200 // browsers refuse addresses that change too often
const SIGNS = { discs: 'w', list: 'e', policy: 'r', owners: 't', coordinates: 'k', numbers: 'm' }
const WRITES = 'textarea, select, [contenteditable], input:not([type=range]):not([type=checkbox])'

const viewer = byId('viewer')
start().catch((error) => {
  byId('fault').textContent = `The board cannot be shown: ${error instanceof Error ? error.message : error} All moves stand below as text.`
  throw error
})

async function start () {
  const answer = await fetch(viewer.dataset['game'] ?? '').catch(() => { throw new Error('this server does not answer.') })
  if (!answer.ok) throw new Error(`the server answers ${answer.status}.`)
  const record = new GameRecord((await answer.json()).answer)
  viewer.hidden = false
  new Viewer(record).start()
}

class Viewer {
  #record
  #board
  #graph
  #points
  #mistakes
  #ply = 0
  #keeping = 0
  #range = /** @type {HTMLInputElement} */ (byId('ply'))
  #dialog = /** @type {HTMLDialogElement} */ (byId('keys'))
  #letters = /** @type {HTMLInputElement} */ (byId('letters'))

  /** @param {GameRecord} record */
  constructor (record) {
    this.#record = record
    this.#points = record.points()
    this.#mistakes = record.mistakes()
    this.#board = new Board(byId('board'), { size: record.size })
    this.#graph = new Graph(byId('graph'), { onGo: (ply) => this.#go(ply) })
  }

  start () {
    byId('owners').hidden = !this.#record.hasOwnership
    byId('mistake').hidden = this.#mistakes.length === 0
    this.#letters.checked = isKept()
    this.#letters.addEventListener('change', () => keep(this.#letters.checked))
    /** @type {[string, () => void][]} */
    const buttons = [
      ['first', () => this.#go(0)],
      ['back', () => this.#go(this.#ply - 1)],
      ['on', () => this.#go(this.#ply + 1)],
      ['end', () => this.#go(this.#record.length)],
      ['mistake', () => this.#nextMistake()],
      ['help', () => this.#dialog.showModal()]
    ]
    for (const [id, act] of buttons) byId(id).addEventListener('click', act)
    for (const id of Object.keys(SIGNS)) byId(id).addEventListener('click', () => this.#toggle(id))
    this.#range.addEventListener('input', () => this.#go(this.#range.valueAsNumber))
    document.addEventListener('keydown', (event) => this.#pressed(event))
    window.addEventListener('hashchange', () => this.#go(plyOf(location.hash) ?? this.#ply))
    this.#go(plyOf(location.hash) ?? 0, false)
  }

  /**
   * @param {number} ply
   * @param {boolean} [isMove] whether the visitor went there
   */
  #go (ply, isMove = true) {
    this.#ply = Math.min(this.#record.length, Math.max(0, ply))
    this.#show()
    if (!isMove) return
    this.#board.say(this.#record.moveWords(this.#ply))
    clearTimeout(this.#keeping)
    this.#keeping = setTimeout(() => history.replaceState(null, '', `#m=${this.#ply}`), REST_MS)
  }

  #show () {
    const [record, ply] = [this.#record, this.#ply]
    this.#board.show({
      stones: record.stones(ply),
      last: record.last(ply),
      heat: isOn('policy') ? record.heat(ply) : null,
      discs: isOn('discs') ? record.discs(ply) : [],
      ownership: isOn('owners') ? record.ownership(ply) : null,
      numbers: isOn('numbers') ? record.numbers(ply) : null
    })
    this.#graph.show(this.#points, ply)
    this.#range.value = `${ply}`
    this.#range.setAttribute('aria-valuetext', record.moveWords(ply))
    byId('move').textContent = record.moveWords(ply)
    byId('thought').textContent = record.thoughtWords(ply)
    this.#list()
  }

  #list () {
    const hints = this.#record.hints(this.#ply)
    const table = byId('hints')
    table.hidden = !isOn('list') || hints.length === 0
    table.querySelector('tbody')?.replaceChildren(...hints.map(({ name, visits, share, policy, isPlayed }) => element('tr', {},
      element('th', { scope: 'row' }, isPlayed ? `${name} (played)` : name),
      element('td', { class: 'number' }, `${visits}`),
      element('td', { class: 'number' }, percent(share)),
      element('td', { class: 'number' }, policy === null ? '–' : percent(policy)))))
  }

  /** @param {string} id */
  #toggle (id) {
    byId(id).setAttribute('aria-pressed', `${!isOn(id)}`)
    if (id === 'coordinates') this.#board.showCoordinates(isOn(id))
    this.#show()
  }

  #nextMistake () {
    const next = this.#mistakes.find((ply) => ply > this.#ply)
    if (next !== undefined) this.#go(next)
    else this.#board.say('No mistake after this move')
  }

  /** @param {KeyboardEvent} event */
  #pressed (event) {
    const target = event.target instanceof Element ? event.target : document.body
    if (event.ctrlKey || event.altKey || event.metaKey || this.#dialog.open || target.matches(WRITES)) return
    const moves = { ArrowLeft: this.#ply - 1, ArrowRight: this.#ply + 1, Home: 0, End: this.#record.length }
    const ply = Object.entries(moves).find(([key]) => key === event.key)?.[1]
    if (ply !== undefined) this.#go(ply)
    else if (!this.#letters.checked && event.key !== '?') return
    else if (event.key === 'z') this.#go(this.#ply - 1)
    else if (event.key === 'x') this.#go(this.#ply + 1)
    else if (event.key === 'n') this.#nextMistake()
    else if (event.key === '?') this.#dialog.showModal()
    else if (event.key === 's') location.assign(viewer.dataset['sgf'] ?? '')
    else {
      const sign = Object.entries(SIGNS).find(([, key]) => key === event.key)?.[0]
      if (sign === undefined || byId(sign).hidden) return
      this.#toggle(sign)
    }
    event.preventDefault()
  }
}

/** @param {string} id of a button that is pressed or not */
function isOn (id) {
  return byId(id).getAttribute('aria-pressed') === 'true'
}

/** @param {string} hash `#m=123`; null for another */
function plyOf (hash) {
  const found = /^#m=([0-9]{1,5})$/.exec(hash)?.[1]
  return found === undefined ? null : Number(found)
}

/** @param {number} share */
function percent (share) {
  const value = 100 * share
  return `${value < 0.1 ? '<0.1' : value.toFixed(value < 10 ? 1 : 0)} %`
}

function isKept () {
  try {
    return localStorage.getItem(LETTERS) !== 'no'
  } catch {
    return true // this browser keeps nothing
  }
}

/** @param {boolean} letters */
function keep (letters) {
  try {
    localStorage.setItem(LETTERS, letters ? 'yes' : 'no')
  } catch {
    // this browser keeps nothing
  }
}
