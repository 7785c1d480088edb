#include "block.h"
#include "game.h"

#include <string.h>

/* Training rows of a game block. Features are made while the block is replayed; what depends on the end of the game
 * (value, score, ownership) is filled when the end is reached. */

typedef struct reader {
  go_rows *rows;
  int32_t capacity, count;
} reader;

static void read_policy(const go_block *b, int32_t i, uint16_t *out) {
  const uint8_t *from = b->policy_target + 2 * (size_t)i * (size_t)b->width;
  for (int32_t m = 0; m < b->width; m++) out[m] = go_read_u16(from + 2 * m);
}

/* What is known of searched ply i when its position is reached. */
static int fill_ply(reader *r, const go_game *game, const go_block *b, int32_t i) {
  size_t points = (size_t)game->board.points, width = (size_t)b->width, planes = GO_FEATURE_PLANES * points;
  go_rows *rows = r->rows;
  if (i >= r->capacity) return GO_OK;
  r->count = i + 1;
  read_policy(b, i, rows->policy + (size_t)i * width);
  if (i + 1 < b->plies) {
    read_policy(b, i + 1, rows->opponent_policy + (size_t)i * width);
  } else {
    memset(rows->opponent_policy + (size_t)i * width, 0, width * sizeof *rows->opponent_policy);
  }
  rows->kind[i] = b->kind[i];
  rows->root_value[i] = go_read_i32(b->value + 4 * (size_t)i);
  return go_game_features(game, rows->planes + (size_t)i * planes, planes);
}

/* What the final position says, from the view of each row's side to move. */
static int fill_outcome(reader *r, const go_game *game, const go_block *b) {
  uint8_t owner[GO_MAX_POINTS];
  size_t points = (size_t)game->board.points;
  int32_t score_half;
  int status = go_game_score(game, &score_half, owner, points);
  if (status) return status;
  for (int32_t i = 0; i < r->count; i++) {
    int32_t own = (b->opening_moves + i) % 2 ? GO_WHITE : GO_BLACK;
    int32_t score = own == GO_BLACK ? score_half : -score_half;
    int8_t *ownership = r->rows->ownership + (size_t)i * points;
    r->rows->score[i] = score;
    r->rows->value[i] = (int8_t)((score > 0) - (score < 0));
    for (size_t p = 0; p < points; p++) ownership[p] = (int8_t)(owner[p] == GO_EMPTY ? 0 : owner[p] == own ? 1 : -1);
  }
  return GO_OK;
}

static int visit(void *context, const go_game *game, const go_block *b, int32_t i) {
  return i < 0 ? fill_outcome(context, game, b) : fill_ply(context, game, b, i);
}

int go_rows_read(const go_rules *rules, const uint8_t *block, size_t len, go_rows *rows, int32_t capacity,
                 int32_t *count) {
  reader r = {rows, capacity, 0};
  int32_t bad_ply;
  *count = 0;
  if (capacity < 0) return GO_ERR_ARGUMENT;
  int status = go_block_replay(rules, block, len, visit, &r, &bad_ply);
  if (!status) *count = r.count;
  return status;
}
