// Win rate and score of a game from Black's view, in one picture: `Graph`. Win rate on the left axis, score on the right; a click goes to a move.

import { element } from './elements.js'

const NAMESPACE = 'http://www.w3.org/2000/svg'
const HEIGHT = 200
const EDGE = { left: 48, right: 44, top: 10, bottom: 26 }
const SMALLEST_SCORE = 5
const ROUND = [1, 2, 5, 10]

/**
 * What the search thought before move `ply + 1`: `winrate` 0..1 and `score` in points, both Black's; null where nothing was searched.
 * @typedef {{ply: number, winrate: number | null, score: number | null}} Point
 */

export class Graph {
  #room
  #onGo
  #picture = shape('svg', { class: 'graph', role: 'img', height: `${HEIGHT}` })
  #curves = shape('g', {})
  #cursor = shape('line', { class: 'now', y1: `${EDGE.top}`, y2: `${HEIGHT - EDGE.bottom}` })
  /** @type {Point[]} */
  #points = []
  #current = 0
  #last = 1
  #width = 0

  /**
   * @param {HTMLElement} room that the graph fills in width
   * @param {{onGo: (ply: number) => void}} options
   */
  constructor (room, { onGo }) {
    this.#room = room
    this.#onGo = onGo
    this.#picture.append(this.#curves, this.#cursor)
    room.replaceChildren(this.#picture, element('p', { class: 'graph-key', 'aria-hidden': 'true' },
      key('rate', "Black's win rate (left)"), key('score', 'score, Black ahead above 0 (right)')))
    this.#picture.addEventListener('pointerdown', (event) => this.#go(event))
    this.#picture.addEventListener('pointermove', (event) => event.buttons === 1 && this.#go(event))
    new ResizeObserver(() => this.#fit()).observe(room)
  }

  /**
   * @param {Point[]} points in the order of `ply`, the first and the last ply of the game among them
   * @param {number} current the ply that is shown
   */
  show (points, current) {
    const isNew = points !== this.#points
    this.#points = points
    this.#current = current
    this.#last = Math.max(1, points.at(-1)?.ply ?? 1)
    if (isNew) this.#fit(true)
    this.#mark()
  }

  #fit (always = false) {
    const width = Math.max(240, this.#room.clientWidth)
    if (width === this.#width && !always) return
    this.#width = width
    this.#picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`)
    this.#draw()
    this.#mark()
  }

  #draw () {
    const most = roundUp(Math.max(SMALLEST_SCORE, ...this.#points.map(({ score }) => Math.abs(score ?? 0))))
    const parts = []
    for (const share of [0, 0.5, 1]) {
      const y = this.#y(share)
      parts.push(shape('line', { class: 'grid', x1: `${EDGE.left}`, x2: `${this.#width - EDGE.right}`, y1: y, y2: y }))
      parts.push(words(EDGE.left - 6, Number(y) + 4, 'end', `${100 * share} %`))
      parts.push(words(this.#width - EDGE.right + 6, Number(y) + 4, 'start', signed(most * (2 * share - 1))))
    }
    const step = roundUp(this.#last / Math.max(2, Math.floor(this.#width / 110)))
    for (let ply = 0; ply <= this.#last; ply += step) {
      parts.push(words(Number(this.#x(ply)), HEIGHT - 8, 'middle', `${ply}`))
    }
    parts.push(this.#curve('score', ({ score }) => score === null ? null : (score / most + 1) / 2))
    parts.push(this.#curve('rate', ({ winrate }) => winrate))
    this.#curves.replaceChildren(...parts)
  }

  /**
   * @param {string} kind
   * @param {(point: Point) => number | null} share of the height
   */
  #curve (kind, share) {
    let path = ''
    let before = -2
    for (const point of this.#points) {
      const value = share(point)
      if (value === null) continue
      path += `${point.ply === before + 1 ? 'L' : 'M'}${this.#x(point.ply)} ${this.#y(value)}`
      before = point.ply
    }
    return shape('path', { class: kind, d: path })
  }

  #mark () {
    const x = this.#x(Math.min(this.#current, this.#last))
    this.#cursor.setAttribute('x1', x)
    this.#cursor.setAttribute('x2', x)
    const { winrate = null, score = null } = this.#points.find(({ ply }) => ply === this.#current) ?? {}
    const now = winrate === null ? 'nothing was searched here' : `${(100 * winrate).toFixed(0)} %${score === null ? '' : ` and ${signed(score)} points`}`
    this.#picture.setAttribute('aria-label', `Black's win rate and score over ${this.#last} moves; after move ${this.#current}: ${now}`)
  }

  /** @param {PointerEvent} event */
  #go (event) {
    const box = this.#picture.getBoundingClientRect()
    const share = ((event.clientX - box.left) * this.#width / box.width - EDGE.left) / (this.#width - EDGE.left - EDGE.right)
    const ply = Math.min(this.#last, Math.max(0, Math.round(share * this.#last)))
    if (ply !== this.#current) this.#onGo(ply)
  }

  /** @param {number} ply */
  #x (ply) {
    return (EDGE.left + ply / this.#last * (this.#width - EDGE.left - EDGE.right)).toFixed(1)
  }

  /** @param {number} share */
  #y (share) {
    return (HEIGHT - EDGE.bottom - share * (HEIGHT - EDGE.top - EDGE.bottom)).toFixed(1)
  }
}

/**
 * The next round number.
 * @param {number} value above 0
 */
function roundUp (value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return power * (ROUND.find((each) => each * power >= value) ?? 10)
}

/** @param {number} value */
function signed (value) {
  const rounded = Number(value.toFixed(1))
  return rounded > 0 ? `+${rounded}` : `${rounded}`.replace('-', '−')
}

/**
 * @param {string} kind
 * @param {string} text
 */
function key (kind, text) {
  const line = shape('svg', { class: 'graph-line', viewBox: '0 0 24 8', width: '24', height: '8' })
  line.append(shape('path', { class: kind, d: 'M0 4H24' }))
  return element('span', {}, line, ` ${text}`)
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} anchor
 * @param {string} text
 */
function words (x, y, anchor, text) {
  const made = shape('text', { class: 'tick', x: `${x}`, y: `${y}`, 'text-anchor': anchor })
  made.textContent = text
  return made
}

/**
 * @param {string} name
 * @param {{[attribute: string]: string}} attributes
 * @returns {SVGElement}
 */
function shape (name, attributes) {
  const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, name))
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  return made
}
