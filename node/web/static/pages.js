// What the pages of a run do beyond HTML: a choice of theme, tables that can be sorted, a graph that zooms. Everything works without it.

import { byId } from './elements.js'
import { startTheme } from './theme.js'
import { startZoom } from './zoom.js'

byId('theme').hidden = false
startTheme()
startTables(document)
if (document.getElementById('elo') !== null) startZoom(startTables)

/** @param {ParentNode} part */
function startTables (part) {
  for (const table of part.querySelectorAll('table[data-sortable]')) {
    if (table instanceof HTMLTableElement && table.tBodies[0] !== undefined && table.tBodies[0].rows.length > 1) makeSortable(table)
  }
}

/**
 * Each head of a column becomes a button that sorts by it, the other way at the second press.
 * @param {HTMLTableElement} table
 */
function makeSortable (table) {
  const heads = [...table.querySelectorAll('thead th')]
  for (const [column, head] of heads.entries()) {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener('click', () => {
      const order = head.getAttribute('aria-sort') === 'descending' ? 'ascending' : 'descending'
      for (const other of heads) other.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', order)
      sort(table, column, order === 'ascending' ? 1 : -1)
    })
  }
}

/**
 * @param {HTMLTableElement} table
 * @param {number} column
 * @param {number} sign
 */
function sort (table, column, sign) {
  const body = table.tBodies[0]
  if (body === undefined) return
  const rows = [...body.rows].map(row => ({ row, value: valueOf(row.cells[column]) }))
  rows.sort((a, b) => sign * compare(a.value, b.value))
  body.append(...rows.map(({ row }) => row))
}

/**
 * @param {HTMLTableCellElement | undefined} cell
 * @returns {number | string}
 */
function valueOf (cell) {
  const value = cell?.dataset['value']
  return value === undefined ? cell?.textContent?.trim() ?? '' : Number(value)
}

/**
 * @param {number | string} a
 * @param {number | string} b
 */
function compare (a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}
