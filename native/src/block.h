#ifndef GO_BLOCK_H
#define GO_BLOCK_H
/* The bytes of a game block (docs/spec/batch.md), as constants and as a checked view. Little-endian throughout.
 *
 * header | u16 moves[moves] | u8 kind[n] | u16 visits[n * P] | u16 policy_target[n * P] | i32 value[n] |
 * i32 score[n] | u8 trace_hash[n * 32], with n = moves - opening_moves >= 1 and P = size * size + 1. */
#include "go_engine.h"

enum {
  GO_BLOCK_COUNTER = 0,        /* u64 */
  GO_BLOCK_SIZE = 8,           /* u8, rows and columns */
  GO_BLOCK_END = 9,            /* u8, GO_END_* but not GO_END_NONE */
  GO_BLOCK_RESULT = 10,        /* u8, GO_RESULT_* */
  GO_BLOCK_OPENING_MOVES = 11, /* u8 */
  GO_BLOCK_KOMI = 12,          /* i16, half points */
  GO_BLOCK_OPENING = 14,       /* u16, index */
  GO_BLOCK_SCORE = 16,         /* i32, half points, black minus white, komi included */
  GO_BLOCK_MOVES = 20,         /* u16, opening included */
  GO_BLOCK_ZERO = 22,          /* u16, 0 */
  GO_BLOCK_HEADER = 24,
  GO_BLOCK_HASH = 32
};
enum { GO_RESULT_DRAW = 0, GO_RESULT_BLACK = 1, GO_RESULT_WHITE = 2 };

static inline uint16_t go_read_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t go_read_u32(const uint8_t *p) { return go_read_u16(p) | (uint32_t)go_read_u16(p + 2) << 16; }
static inline uint64_t go_read_u64(const uint8_t *p) { return go_read_u32(p) | (uint64_t)go_read_u32(p + 4) << 32; }
static inline int32_t go_read_i32(const uint8_t *p) {
  uint32_t u = go_read_u32(p);
  return u < 0x80000000u ? (int32_t)u : -(int32_t)(~u) - 1;
}
static inline int32_t go_read_i16(const uint8_t *p) {
  int32_t u = go_read_u16(p);
  return u < 0x8000 ? u : u - 0x10000;
}
static inline void go_write_u16(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void go_write_u32(uint8_t *p, uint32_t v) {
  go_write_u16(p, (uint16_t)v);
  go_write_u16(p + 2, (uint16_t)(v >> 16));
}
static inline void go_write_u64(uint8_t *p, uint64_t v) {
  go_write_u32(p, (uint32_t)v);
  go_write_u32(p + 4, (uint32_t)(v >> 32));
}

static inline int32_t go_result_of(int32_t score_half) {
  return score_half > 0 ? GO_RESULT_BLACK : score_half < 0 ? GO_RESULT_WHITE : GO_RESULT_DRAW;
}

/* Bytes of a block with `moves` moves of which `plies` were searched, on size * size points. */
static inline size_t go_block_bytes(int32_t size, int32_t moves, int32_t plies) {
  size_t width = (size_t)size * (size_t)size + 1;
  return GO_BLOCK_HEADER + 2 * (size_t)moves + (size_t)plies * (1 + 4 * width + 4 + 4 + GO_BLOCK_HASH);
}

/* A block taken apart; the pointers are into the block's bytes. */
typedef struct go_block {
  uint64_t counter;
  int32_t size, end, result, opening, opening_moves, komi_half, score_half, moves;
  int32_t plies; /* searched: moves - opening_moves */
  int32_t width; /* P = size * size + 1 */
  const uint8_t *move, *kind, *visits, *policy_target, *value, *score, *trace_hash;
} go_block;

/* Takes `data` apart. GO_ERR_FORMAT unless it is one block, whole and without trailing bytes, whose fields lie in
 * their ranges (size 1..19, end, result, kinds, zero field, score that fits komi, size and result, at least one ply). */
int go_block_parse(const uint8_t *data, size_t len, go_block *out);

/* A begun game is a block without an end (end, result and score 0) and the D of its searched plies, 32 bytes each. It
 * stays on the machine that played it. Takes `data` apart as go_block_parse does. */
int go_begun_parse(const uint8_t *data, size_t len, go_block *out, const uint8_t **digests);
static inline size_t go_begun_bytes(int32_t size, int32_t moves, int32_t plies) {
  return go_block_bytes(size, moves, plies) + 32 * (size_t)plies;
}

/* Called before each searched ply i with the position it was searched in, and with i = -1 and the final position
 * when all is found right. A status that is not GO_OK ends the replay. */
typedef int go_block_visit(void *context, const go_game *game, const go_block *block, int32_t i);
/* go_block_check with a look at each position; `visit` may be NULL. */
int go_block_replay(const go_rules *rules, const uint8_t *data, size_t len, go_block_visit *visit, void *context,
                    int32_t *bad_ply);

#endif
