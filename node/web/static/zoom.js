// The strength graph by pointer and keys: a stretch that is drawn across it is shown; + - 0 and the arrows follow the links
// above it. The server draws; only that part of the page is changed, so that nothing jumps.

const PART = '#elo'
const KEYS = new Map([['+', 'closer'], ['=', 'closer'], ['-', 'wider'], ['0', 'all'], ['ArrowLeft', 'earlier'], ['ArrowRight', 'later']])
const LEAST_PX = 8
const SVG = 'http://www.w3.org/2000/svg'

/** Makes the graph of this page one that zooms. `renew` is given the part of the page that is new. */
export function startZoom (/** @type {(part: Element) => void} */ renew) {
  let asked = 0
  const begin = () => {
    const figure = document.querySelector(`${PART} figure`)
    if (!(figure instanceof HTMLElement)) return
    figure.tabIndex = 0
    figure.setAttribute('aria-label', 'Graph of strength. Plus and minus zoom, the arrows move, zero shows all.')
    figure.addEventListener('keydown', pressed)
    const graph = figure.querySelector('svg')
    if (graph !== null) drag(graph)
  }

  /** Shows what is at an address, and keeps the focus on the graph or link if it was there. */
  const show = async (/** @type {string} */ address) => {
    const number = ++asked
    const text = await fetch(address).then(answer => answer.ok ? answer.text() : null).catch(() => null)
    if (number !== asked) return // another part was asked for meanwhile
    if (text === null) {
      location.reload() // the address is this page's already
      return
    }
    const isOpen = document.querySelector(`${PART} details`)?.hasAttribute('open') ?? false
    const part = new DOMParser().parseFromString(text, 'text/html').querySelector(PART)
    if (part === null) return
    part.querySelector('details')?.toggleAttribute('open', isOpen)
    const before = document.querySelector(PART)
    const focused = before?.contains(document.activeElement) ? document.activeElement : null
    const name = focused instanceof HTMLAnchorElement ? focused.dataset['zoom'] : undefined
    before?.replaceWith(part)
    renew(part)
    begin()
    const same = name === undefined ? null : part.querySelector(`a[data-zoom="${name}"]`)
    const next = focused === null ? null : same ?? part.querySelector('figure')
    if (next instanceof HTMLElement) next.focus({ preventScroll: true })
  }

  const go = (/** @type {string} */ address) => {
    history.pushState(null, '', address)
    void show(address)
  }

  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const name = KEYS.get(event.key)
    const link = name === undefined ? null : document.querySelector(`${PART} a[data-zoom="${name}"]`)
    if (!(link instanceof HTMLAnchorElement)) return
    event.preventDefault()
    go(link.href)
  }

  /** A stretch drawn across the graph is shown. */
  const drag = (/** @type {SVGSVGElement} */ graph) => {
    /** @type {{ id: number, from: number, band: SVGElement } | null} */
    let drawn = null
    const { low = 0, high = 0, start = 0, end = 1 } = Object.fromEntries(
      Object.entries(graph.dataset).map(([name, value]) => [name, Number(value)]))
    const box = graph.viewBox.baseVal
    const place = (/** @type {PointerEvent} */ event) => {
      const shown = graph.getBoundingClientRect()
      return Math.min(end, Math.max(start, (event.clientX - shown.left) / shown.width * box.width))
    }
    const stop = () => {
      drawn?.band.remove()
      drawn = null
    }
    graph.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || drawn !== null || high - low < 1) return
      const band = document.createElementNS(SVG, 'rect')
      band.setAttribute('class', 'band')
      band.setAttribute('height', String(box.height))
      graph.append(band)
      drawn = { id: event.pointerId, from: place(event), band }
      graph.setPointerCapture(event.pointerId)
    })
    graph.addEventListener('pointermove', (event) => {
      if (drawn?.id !== event.pointerId) return
      const here = place(event)
      drawn.band.setAttribute('x', String(Math.min(drawn.from, here)))
      drawn.band.setAttribute('width', String(Math.abs(here - drawn.from)))
    })
    graph.addEventListener('pointercancel', stop)
    graph.addEventListener('pointerup', (event) => {
      if (drawn?.id !== event.pointerId) return
      const ends = [drawn.from, place(event)].sort((a, b) => a - b)
      stop()
      const [left = start, right = end] = ends
      if ((right - left) / box.width * graph.getBoundingClientRect().width < LEAST_PX) return
      const value = (/** @type {number} */ at) => Math.round(low + (at - start) / (end - start) * (high - low))
      const address = new URL(location.href)
      for (const [name, at] of Object.entries({ from: left, to: right })) address.searchParams.set(name, String(value(at)))
      go(address.href)
    })
  }

  document.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    const link = event.target instanceof Element ? event.target.closest(`${PART} a[data-zoom]`) : null
    if (!(link instanceof HTMLAnchorElement)) return
    event.preventDefault()
    go(link.href)
  })
  addEventListener('popstate', () => { void show(location.href) })
  begin()
}
