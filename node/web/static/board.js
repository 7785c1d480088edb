// A Go board for the pages of a run: `Board`. Shudan draws wood and stones (docs/adr/0053); discs, the cursor, and what a screen reader reads are added here.
// It knows no rules: what it shows, and whether a move may be played, is the caller's.

import { createElement as h, render } from './vendor/preact/preact.module.js'
import Goban from './vendor/shudan/Goban.js'
import { element } from './elements.js'

const COLUMNS = 'ABCDEFGHJKLMNOPQRST'
const BLACK = 1
const SMALLEST_PX = 8
const LARGEST_PX = 56
const WORDS_FROM_PX = 24 // below it nobody reads what stands in a disc
const FINGER_PX = 36 // below it a finger's first touch only chooses the point
const BORDER_EM = 0.15 // as goban.css has it, and the padding of a board without coordinates
const PADDING_EM = 0.25
const STEPS = new Map([['ArrowLeft', [0, -1]], ['ArrowRight', [0, 1]], ['ArrowUp', [-1, 0]], ['ArrowDown', [1, 0]]])

let boards = 0

/**
 * A move that a search looked at; `winrate` 0..1 of whoever is to play, where it is known.
 * @typedef {{point: number, visits: number, winrate?: number | null, best?: boolean, faint?: boolean}} Disc
 */
/**
 * @typedef {object} Position
 * @property {ArrayLike<number>} stones a point each, row by row from the top left: 0, 1 black, -1 white
 * @property {number | null} [last] the point of the last move
 * @property {ArrayLike<number> | null} [heat] a point each: 0 none, 1..6
 * @property {Disc[]} [discs]
 * @property {ArrayLike<number> | null} [ownership] a point each: -1..1, 1 is Black's
 * @property {ArrayLike<string | number | null> | null} [numbers] a point each: what stands on it
 * @property {number | null} [toPlay] whose move can be played here: 1, -1; null while nobody's can
 */

/**
 * D4, or pass.
 * @param {number} point
 * @param {number} size
 * @returns {string}
 */
export function pointName (point, size) {
  return point === size * size ? 'pass' : `${COLUMNS[point % size]}${size - Math.floor(point / size)}`
}

export class Board {
  #size
  #onPlay
  #coordinates
  #id = `board-${++boards}`
  #frame = element('div', { class: 'board-frame' })
  #picture = element('div', { class: 'board-picture', 'aria-hidden': 'true' })
  #over = element('div', { class: 'board-over' })
  #line = element('p', { class: 'board-hidden', 'aria-live': 'polite' })
  #room
  #px = 0
  #cursor
  /** @type {number | null} the point under the mouse, or the one that a finger chose */
  #hover = null
  #isFinger = false
  /** @type {Required<Position>} */
  #now

  /**
   * @param {HTMLElement} room that the board fills in width
   * @param {{size: number, coordinates?: boolean, onPlay?: ((point: number) => void) | null}} options
   */
  constructor (room, { size, coordinates = true, onPlay = null }) {
    this.#size = size
    this.#onPlay = onPlay
    this.#coordinates = coordinates
    this.#cursor = Math.floor(size / 2) * (size + 1)
    this.#now = { stones: new Int8Array(size * size), last: null, heat: null, discs: [], ownership: null, numbers: null, toPlay: null }
    this.#room = room
    this.#frame.append(this.#picture, this.#over)
    room.classList.add('board')
    room.replaceChildren(this.#frame, this.#line)
    this.#frame.addEventListener('click', (event) => this.#clicked(event))
    this.#frame.addEventListener('pointerdown', (event) => { this.#isFinger = event.pointerType === 'touch' })
    this.#frame.addEventListener('pointermove', (event) => event.pointerType !== 'touch' && this.#hovers(this.#pointAt(event)))
    this.#frame.addEventListener('pointerleave', (event) => event.pointerType !== 'touch' && this.#hovers(null))
    this.#over.addEventListener('keydown', (event) => this.#pressed(event))
    this.#over.addEventListener('focusin', () => this.#drawOver())
    this.#over.addEventListener('focusout', () => this.#drawOver())
    new ResizeObserver(() => this.#fit()).observe(room)
    this.#fit(true)
  }

  /**
   * Shows a position; a move that is new is said to a screen reader.
   * @param {Position} position
   */
  show ({ stones, last = null, heat = null, discs = [], ownership = null, numbers = null, toPlay = null }) {
    const isNew = last !== null && last !== this.#now.last
    this.#now = { stones, last, heat, discs, ownership, numbers, toPlay }
    if (isNew) this.say(`${stones[last] ? `${colourOf(stones[last])} ` : ''}${pointName(last, this.#size)}`)
    this.#draw()
  }

  /**
   * Has a screen reader say something about a move, in place of what `show` had it say.
   * @param {string} words
   */
  say (words) {
    this.#line.textContent = words
  }

  /** @param {boolean} shown */
  showCoordinates (shown) {
    this.#coordinates = shown
    this.#fit(true)
  }

  /** Moves the keyboard to a board that is played on. */
  focus () {
    const grid = this.#over.querySelector('[role=grid]')
    if (grid instanceof HTMLElement) grid.focus({ preventScroll: true })
  }

  #fit (always = false) {
    const around = 2 * BORDER_EM + (this.#coordinates ? 2 : 2 * PADDING_EM)
    const fitting = Math.floor(this.#room.clientWidth / (this.#size + around))
    const px = Math.min(LARGEST_PX, Math.max(SMALLEST_PX, fitting))
    if (px === this.#px && !always) return
    this.#px = px
    this.#draw()
  }

  #draw () {
    const { stones, last, heat, ownership, numbers } = this.#now
    const rows = Array.from({ length: this.#size }, (_, row) => row * this.#size)
    /** @param {(point: number) => unknown} value */
    const map = (value) => rows.map((first) => rows.map((_, column) => value(first + column)))
    /** @param {number} point */
    const marker = (point) => {
      const number = numbers?.[point] ?? null
      if (number !== null) return { type: 'label', label: `${number}` }
      return point === last ? { type: 'circle' } : null
    }
    const properties = {
      vertexSize: this.#px,
      showCoordinates: this.#coordinates,
      signMap: map((point) => stones[point] ?? 0),
      markerMap: map(marker),
      heatMap: heat && map((point) => heat[point] ? { strength: heat[point] } : null),
      paintMap: ownership && map((point) => ownership[point] ?? 0)
    }
    render(h(/** @type {any} */ (Goban), properties), this.#picture)
    this.#drawOver()
  }

  #drawOver () {
    const size = this.#size
    const edge = BORDER_EM + (this.#coordinates ? 1 : PADDING_EM)
    const style = { fontSize: `${this.#px}px`, left: `${edge}em`, top: `${edge}em`, width: `${size}em`, height: `${size}em` }
    const { discs, toPlay } = this.#now
    const isFocused = this.#over.querySelector('[role=grid]:focus-visible') !== null
    const chosen = this.#hover ?? (isFocused ? this.#cursor : null)
    render([
      h('svg', { class: 'board-discs', viewBox: `0 0 ${size} ${size}`, style, 'aria-hidden': 'true' },
        discs.map((disc) => this.#disc(disc)),
        toPlay !== null && chosen !== null && !this.#now.stones[chosen] && this.#circle(chosen, 0.46, toPlay === BLACK ? 'ghost black' : 'ghost white'),
        toPlay !== null && isFocused && h('rect', { class: 'cursor', x: this.#cursor % size, y: Math.floor(this.#cursor / size), width: 1, height: 1 })
      ),
      this.#table()
    ], this.#over)
  }

  /** @param {Disc} disc */
  #disc ({ point, visits, winrate = null, best = false, faint = false }) {
    const x = point % this.#size + 0.5
    const y = Math.floor(point / this.#size) + 0.5
    const isSmall = this.#now.heat !== null // so that the policy is seen around it
    const hasWords = this.#px >= WORDS_FROM_PX && !faint
    const hasRate = hasWords && winrate !== null
    return h('g', { key: point, class: `disc${best ? ' best' : ''}${faint ? ' faint' : ''}` },
      this.#circle(point, (isSmall ? 0.3 : 0.46) - (best ? 0.03 : 0)),
      hasRate && h('text', { x, y: isSmall ? y + 0.12 : y - 0.02, class: 'rate' }, (100 * winrate).toFixed(0)),
      hasWords && !(isSmall && hasRate) && h('text', { x, y: hasRate ? y + 0.28 : y + 0.1, class: 'visits' }, brief(visits))
    )
  }

  /**
   * @param {number} point
   * @param {number} r
   * @param {string} [kind]
   */
  #circle (point, r, kind) {
    return h('circle', { class: kind, cx: point % this.#size + 0.5, cy: Math.floor(point / this.#size) + 0.5, r })
  }

  /** The position for a screen reader: a table, or where moves are played a grid with a cursor. */
  #table () {
    const { stones } = this.#now
    const plays = this.#onPlay !== null
    const size = this.#size
    const rows = Array.from({ length: size }, (_, row) => h('div', { role: 'row', key: row },
      Array.from({ length: size }, (_, column) => {
        const point = row * size + column
        return h('span', { role: plays ? 'gridcell' : 'cell', key: column, id: `${this.#id}-${point}` }, `${pointName(point, size)} ${stateOf(stones[point])}`)
      })))
    const properties = plays
      ? { role: 'grid', tabIndex: 0, 'aria-activedescendant': `${this.#id}-${this.#cursor}`, 'aria-label': `Board, ${size} by ${size}: arrows choose a point, Enter plays` }
      : { role: 'table', 'aria-label': `Board, ${size} by ${size}` }
    return h('div', { class: 'board-hidden', ...properties }, rows)
  }

  /**
   * @param {MouseEvent} event
   * @returns {number | null}
   */
  #pointAt (event) {
    const box = this.#over.querySelector('svg')?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return null
    const column = Math.floor((event.clientX - box.left) / box.width * this.#size)
    const row = Math.floor((event.clientY - box.top) / box.height * this.#size)
    const isInside = column >= 0 && row >= 0 && column < this.#size && row < this.#size
    return isInside ? row * this.#size + column : null
  }

  /** @param {number | null} point */
  #hovers (point) {
    if (point === this.#hover || this.#onPlay === null) return
    this.#hover = point
    this.#drawOver()
  }

  /** @param {MouseEvent} event */
  #clicked (event) {
    const point = this.#pointAt(event)
    if (point === null || this.#now.toPlay === null || this.#onPlay === null) return
    const isChosen = !this.#isFinger || this.#px >= FINGER_PX || this.#hover === point
    this.#cursor = point
    if (this.#isFinger) this.#hover = isChosen ? null : point
    this.focus()
    if (isChosen) this.#play(point)
    this.#drawOver()
  }

  /** @param {KeyboardEvent} event */
  #pressed (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const step = STEPS.get(event.key)
    if (step !== undefined) {
      const [down = 0, right = 0] = step
      const row = Math.floor(this.#cursor / this.#size) + down
      const column = this.#cursor % this.#size + right
      if (row >= 0 && column >= 0 && row < this.#size && column < this.#size) this.#cursor = row * this.#size + column
      this.#hover = null
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.#play(this.#cursor)
    } else {
      return
    }
    event.preventDefault()
    event.stopPropagation()
    this.#drawOver()
  }

  /** @param {number} point */
  #play (point) {
    if (this.#now.toPlay !== null && !this.#now.stones[point]) this.#onPlay?.(point)
  }
}

/** @param {number | undefined} stone */
function colourOf (stone) {
  return stone === BLACK ? 'Black' : 'White'
}

/** @param {number | undefined} stone */
function stateOf (stone) {
  return stone ? colourOf(stone).toLowerCase() : 'empty'
}

/**
 * 999, 1.2k, 12k.
 * @param {number} visits
 */
function brief (visits) {
  return visits < 1000 ? `${visits}` : `${(visits / 1000).toFixed(visits < 9950 ? 1 : 0)}k`
}
