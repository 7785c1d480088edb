// The theme: the system's, or the visitor's choice, kept in this browser.

import { byId } from './elements.js'

const NAME = 'gonode/theme'
const THEMES = [['', 'system'], ['light', 'light'], ['dark', 'dark']]

/** Shows the chosen theme, and has the button change it. */
export function startTheme () {
  let chosen = Math.max(0, THEMES.findIndex(([theme]) => theme === stored()))
  const show = () => {
    const [theme = '', word = ''] = THEMES[chosen] ?? []
    document.documentElement.style.colorScheme = theme
    byId('theme').textContent = `Theme: ${word}`
    store(theme)
  }
  byId('theme').addEventListener('click', () => {
    chosen = (chosen + 1) % THEMES.length
    show()
  })
  show()
}

function stored () {
  try {
    return localStorage.getItem(NAME) ?? ''
  } catch {
    return '' // this browser keeps nothing
  }
}

/** @param {string} theme */
function store (theme) {
  try {
    localStorage.setItem(NAME, theme)
  } catch {
    // this browser keeps nothing
  }
}
