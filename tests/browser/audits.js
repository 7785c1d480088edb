// Audits folders with the audit page's modules: reads `{files, changes, run, seen}` from standard input. `files` maps paths to
// hexadecimal digits, each of `changes` some of them to others or null. Prints, for each change, the answers by step: `[state,
// sentence]` for the log and the newest release, and if the log is believed what stands above them.

import { readFileSync } from 'node:fs'

import { auditLog, auditRelease, STEPS } from '../../node/web/static/audit.js'
import { unhex } from '../../node/web/static/bytes.js'
import { headlineOf } from '../../node/web/static/headline.js'

const { files, changes, run, seen = [] } = JSON.parse(readFileSync(0, 'utf8'))
const given = new Map(Object.entries(files).map(([path, text]) => [path, unhex(text)]))
const saved = seen.map(({ size, root }) => ({ size, rootHash: unhex(root), seen: '2026-01-01T00:00:00Z' }))
const expected = run === undefined ? {} : { run: unhex(run), by: 'visitor' }

const outputs = []
for (const change of changes) {
  outputs.push(await audit(new Map([...given, ...Object.entries(change).map(([path, text]) => [path, text && unhex(text)])])))
}
console.log(JSON.stringify(outputs))

async function audit (held) {
  const answers = {}
  const whole = new Map()
  const tell = (answer) => {
    whole.set(answer.id, answer)
    answers[answer.id] = [answer.state, answer.sentence]
  }
  const folder = {
    read: async (path, most) => {
      const bytes = held.get(path) ?? null
      if (bytes !== null && bytes.length > most) throw new Error(`${path} is longer than ${most}`)
      return bytes
    }
  }
  const found = await auditLog(folder, expected, () => saved, tell, () => {})
  if (found === undefined) {
    return answers
  }
  await auditRelease(folder, found, found.history.releases.length, tell)
  const { state, title, about } = headlineOf(STEPS, whole)
  answers.headline = [state, `${title} ${about}`]
  return answers
}
