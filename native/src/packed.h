#ifndef GO_PACKED_H
#define GO_PACKED_H
/* The bytes of a packed game (docs/spec/rows.md), little-endian. With n rows on p points, B = (p + 7) / 8 and
 * W = (p + 8) / 8:
 *
 * header | black's area u8[B] | white's area u8[B] | u32 start[n + 1] | rows
 *
 * start[i] is where row i begins, from the game's first byte; start[n] is the game's length. A row:
 *
 * u8 kind and passed | i32 root_value | u16 last[5] | 11 planes u8[B] | of a full search: u8 moves[W], u16 weight[moves]
 *
 * Sets of points and moves have bit i % 8 of byte i / 8 for point i; bits beyond the last are 0. */
#include "block.h"
#include "game.h"

enum {
  GO_PACKED_SIZE = 0,   /* u8, rows and columns */
  GO_PACKED_FIRST = 1,  /* u8, who is to move in row 0 */
  GO_PACKED_KOMI = 2,   /* u8[2], plane 18 when black and when white is to move */
  GO_PACKED_SCALE = 4,  /* u8, plane 19 */
  GO_PACKED_ZERO = 5,   /* u8, 0 */
  GO_PACKED_ROWS = 6,   /* u16, n >= 1 */
  GO_PACKED_MOVES = 8,  /* u16, of the whole game */
  GO_PACKED_ZERO2 = 10, /* u16, 0 */
  GO_PACKED_SCORE = 12, /* i32, half points, black minus white */
  GO_PACKED_NAME = 16,  /* u8[16], of the moves */
  GO_PACKED_HEADER = 32
};
enum {
  GO_PACKED_PLANES = 11,                  /* planes 1 to 9, 15 and 16 */
  GO_PACKED_LASTS = 5,                    /* planes 10 to 14, as points */
  GO_PACKED_NOWHERE = 0xffff,             /* a last move that is no point */
  GO_PACKED_ROW = 5 + 2 * GO_PACKED_LASTS /* bytes of a row before its planes */
};
enum { GO_PACKED_FULL = 1, GO_PACKED_PASSED = 2 };

static inline size_t go_packed_set(size_t count) { return (count + 7) / 8; }
static inline int32_t go_packed_is_full(const uint8_t *row) { return row[0] & GO_PACKED_FULL; }

/* A packed game taken apart; the pointers are into its bytes. */
typedef struct go_packed_view {
  const uint8_t *data, *areas, *start;
  size_t len, points, set, width; /* set: bytes of a plane; width: moves with the pass */
  int32_t size, first, rows, moves, score;
} go_packed_view;

/* GO_ERR_FORMAT unless header and starts are whole; rows are looked at by go_packed_row. */
int go_packed_parse(const uint8_t *data, size_t len, go_packed_view *out);
/* Row i, whole, or NULL when it is not one. */
const uint8_t *go_packed_row(const go_packed_view *game, int32_t i);
/* The moves of a full row's policy, go_packed_set(width) bytes, followed by their weights. */
static inline const uint8_t *go_packed_policy(const go_packed_view *game, const uint8_t *row) {
  return row + GO_PACKED_ROW + GO_PACKED_PLANES * game->set;
}

#endif
