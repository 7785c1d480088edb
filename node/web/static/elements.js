// Elements of the page, made from data: nothing that comes from a file is ever read as HTML.

/**
 * @param {string} name of the element
 * @param {{[attribute: string]: string}} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element (name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    made.setAttribute(attribute, value)
  }
  made.append(...children)
  return made
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId (id) {
  const found = document.getElementById(id)
  if (found === null) {
    throw new Error(`The page has no element ${id}.`)
  }
  return found
}

/**
 * @param {string} caption
 * @param {{name: string, kind?: string}[]} columns the first one heads its row; kind `number` stands to the right, `wide` is left out on a phone
 * @param {{cells: (Node | string)[], isCurrent?: boolean}[]} rows
 * @returns {HTMLElement}
 */
export function table (caption, columns, rows) {
  const head = columns.map(({ name, kind = '' }) => element('th', { scope: 'col', class: kind }, name))
  const body = rows.map(({ cells, isCurrent }) => {
    const items = cells.map((cell, at) => at === 0
      ? element('th', { scope: 'row' }, cell)
      : element('td', { class: columns[at]?.kind ?? '' }, cell))
    return element('tr', isCurrent ? { 'aria-current': 'true' } : {}, ...items)
  })
  return element('table', {}, element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body))
}
