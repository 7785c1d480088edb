// What canonical bytes hold (docs/spec/canonical.md); a type that names itself, which comments cannot.

export type Value = null | boolean | number | bigint | string | Uint8Array | Value[] | Fields
export interface Fields { [name: string]: Value }

/** What statements hold as JSON (docs/spec/statement.md): no numbers. */
export type Json = string | boolean | Json[] | { [name: string]: Json }
