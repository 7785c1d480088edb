// A file of a folder whose server answers 429 so many times as standard input says: prints what is read and how often it was asked.

import { readFileSync } from 'node:fs'

import { WebFolder } from '../../node/web/static/folder.js'

let left = JSON.parse(readFileSync(0, 'utf8'))
let asked = 0
globalThis.fetch = async () => {
  asked++
  return left-- > 0 ? new Response('wait', { status: 429, headers: { 'Retry-After': '0' } }) : new Response('all of it')
}
const found = await new WebFolder(new URL('http://run.test/public/')).read('checkpoint', 100).then(
  (bytes) => new TextDecoder().decode(bytes ?? undefined),
  (error) => error.message
)
console.log(JSON.stringify({ found, asked }))
