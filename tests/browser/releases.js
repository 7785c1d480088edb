// Follows a log, `{run, entries}` on standard input: prints after each entry which batches are released, by their entries, and the doubt.

import { readFileSync } from 'node:fs'

import { unhex } from '../../node/web/static/bytes.js'
import { History } from '../../node/web/static/history.js'

const { run, entries } = JSON.parse(readFileSync(0, 'utf8'))
const history = new History(unhex(run))
const { released } = history
const apply = released.apply.bind(released)
const found = []
released.apply = (entry, root) => {
  apply(entry, root)
  found.push({ batches: released.list.map(({ entry: { index } }) => index), doubt: released.doubt() })
}
await history.takeAll(entries.map(unhex), () => {})
console.log(JSON.stringify(found))
