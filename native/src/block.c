/* Writing game blocks, and comparing one with what the search gives (docs/spec/batch.md). block_check.c reads them. */
#include <string.h>

#include "record.h"

/* ---- writing -------------------------------------------------------------------------------------------- */

void go_block_write(const go_job *job, const go_game *game, int32_t score_half, const go_record *record, uint8_t *out) {
  const int32_t size = job->rules.rows, total = go_game_moves(game);
  const size_t width = (size_t)size * (size_t)size + 1, n = (size_t)record->plies;
  memset(out, 0, GO_BLOCK_HEADER);
  go_write_u64(out + GO_BLOCK_COUNTER, job->counter);
  out[GO_BLOCK_SIZE] = (uint8_t)size;
  out[GO_BLOCK_END] = (uint8_t)go_game_end(game);
  out[GO_BLOCK_RESULT] = (uint8_t)go_result_of(score_half);
  out[GO_BLOCK_OPENING_MOVES] = (uint8_t)job->opening_len;
  go_write_u16(out + GO_BLOCK_KOMI, (uint16_t)job->rules.komi_half);
  go_write_u16(out + GO_BLOCK_OPENING, (uint16_t)job->opening);
  go_write_u32(out + GO_BLOCK_SCORE, (uint32_t)score_half);
  go_write_u16(out + GO_BLOCK_MOVES, (uint16_t)total);

  uint8_t *at = out + GO_BLOCK_HEADER;
  for (int32_t i = 0, move, colour; i < total; i++, at += 2) {
    go_game_move_at(game, i, &move, &colour);
    go_write_u16(at, (uint16_t)move);
  }
  for (size_t i = 0; i < n; i++) *at++ = (uint8_t)record->ply[i].kind;
  for (size_t i = 0; i < n * width; i++, at += 2) go_write_u16(at, record->visits[i]);
  for (size_t i = 0; i < n * width; i++, at += 2) go_write_u16(at, record->policy_target[i]);
  for (size_t i = 0; i < n; i++, at += 4) go_write_u32(at, (uint32_t)record->ply[i].value);
  for (size_t i = 0; i < n; i++, at += 4) go_write_u32(at, (uint32_t)record->ply[i].score);
  for (size_t i = 0; i < n; i++, at += GO_BLOCK_HASH) memcpy(at, record->ply[i].trace_hash, GO_BLOCK_HASH);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

int go_block_read_ply(const go_block *block, int32_t index, const uint8_t digest[32], go_ply *out) {
  const size_t i = (size_t)index, width = (size_t)block->width;
  uint8_t hash[GO_BLOCK_HASH];
  out->move = go_read_u16(block->move + 2 * (i + (size_t)block->opening_moves));
  out->kind = block->kind[i];
  out->value = go_read_i32(block->value + 4 * i);
  out->score = go_read_i32(block->score + 4 * i);
  for (size_t p = 0; p < width; p++) {
    out->visits[p] = go_read_u16(block->visits + 2 * (i * width + p));
    out->policy_target[p] = go_read_u16(block->policy_target + 2 * (i * width + p));
  }
  memcpy(out->digest, digest, sizeof out->digest);
  go_sha256(digest, sizeof out->digest, hash);
  return memcmp(hash, block->trace_hash + GO_BLOCK_HASH * i, sizeof hash) == 0 ? GO_OK : GO_ERR_FORMAT;
}

/* ---- comparing ------------------------------------------------------------------------------------------ */

int go_block_ply_equals(const go_block *block, int32_t index, const go_ply *ply) {
  const size_t i = (size_t)index, width = (size_t)block->width;
  const uint8_t *visits = block->visits + 2 * i * width, *target = block->policy_target + 2 * i * width;
  if (go_read_u16(block->move + 2 * (i + (size_t)block->opening_moves)) != ply->move) return 0;
  if (block->kind[i] != ply->kind) return 0;
  if (go_read_i32(block->value + 4 * i) != ply->value || go_read_i32(block->score + 4 * i) != ply->score) return 0;
  for (size_t p = 0; p < width; p++)
    if (go_read_u16(visits + 2 * p) != ply->visits[p] || go_read_u16(target + 2 * p) != ply->policy_target[p]) return 0;
  uint8_t hash[GO_BLOCK_HASH];
  go_sha256(ply->digest, sizeof ply->digest, hash);
  return memcmp(hash, block->trace_hash + GO_BLOCK_HASH * i, sizeof hash) == 0;
}
