#include "game.h"

#include <string.h>

/* Version 1 of the input planes; docs/spec/features.md has the table. */

enum { ON = 64, HISTORY = 5 };
enum {
  PLANE_BOARD = 0,
  PLANE_OWN = 1,
  PLANE_OTHER = 2,
  PLANE_OWN_LIBERTIES = 3,   /* 1, 2 and 3 */
  PLANE_OTHER_LIBERTIES = 6, /* 1, 2 and 3 */
  PLANE_BAN = 9,
  PLANE_LAST = 10, /* and the four before */
  PLANE_OWN_ALIVE = 15,
  PLANE_OTHER_ALIVE = 16,
  PLANE_PASSED = 17,
  PLANE_KOMI = 18,
  PLANE_SIZE = 19
};

static uint8_t clamp7(int32_t value) { return (uint8_t)(value < 0 ? 0 : value > 127 ? 127 : value); }

/* clamp7(round(64 * sqrt(points) / 19)), in integers: the greatest v with v - 1/2 <= 64 sqrt(points) / 19. */
static uint8_t size_scalar(int32_t points) {
  int32_t v = 0;
  while (361 * (2 * v + 1) * (2 * v + 1) <= 4 * 4096 * points) v++;
  return clamp7(v);
}

/* Sets plane 9: where ko or superko alone forbids a stone. */
static void put_bans(const go_game *game, uint8_t *plane) {
  const go_board *board = &game->board;
  uint64_t bans[GO_MAX_WORDS];
  go_game_bans(game, bans);
  for (int32_t i = 0; i < board->words; i++) {
    for (; bans[i]; bans[i] &= bans[i] - 1) plane[go_point_of(board, 64 * i + go_lowest(bans[i]) + board->stride)] = ON;
  }
}

int go_game_features(const go_game *game, uint8_t *out, size_t len) {
  const go_board *board = &game->board;
  size_t plane = (size_t)board->points;
  const int32_t own = game->to_move, other = go_other(own);
  /* Where a point's colour, its chain's liberties and its area show; plane 0 where there is nothing to show. */
  size_t stones[3] = {0}, liberties[3][5] = {{0}}, areas[3] = {0};
  uint64_t alive[2 * GO_MAX_WORDS];
  if (len != GO_FEATURE_PLANES * plane) return GO_ERR_ARGUMENT;
  memset(out, 0, len);
  stones[own] = PLANE_OWN * plane;
  stones[other] = PLANE_OTHER * plane;
  areas[own] = PLANE_OWN_ALIVE * plane;
  areas[other] = PLANE_OTHER_ALIVE * plane;
  for (size_t n = 1; n <= 3; n++) {
    liberties[own][n] = (PLANE_OWN_LIBERTIES + n - 1) * plane;
    liberties[other][n] = (PLANE_OTHER_LIBERTIES + n - 1) * plane;
  }
  go_board_pass_alive(board, game->rules.suicide, alive);
  for (int32_t row = 0, p = 0; row < board->rows; row++) {
    for (int32_t col = 0; col < board->cols; col++, p++) {
      const int32_t bit = row * board->stride + col, cell = bit + board->stride, colour = board->colour[cell];
      const int32_t n = board->cell[board->cell[cell].head].liberties; /* of an empty point: not used */
      uint8_t *at = out + p;
      at[PLANE_BOARD * plane] = ON;
      at[stones[colour]] = ON;
      at[liberties[colour][n < 4 ? n : 4]] = ON;
      at[areas[GO_BLACK * go_bits_has(alive, bit) + GO_WHITE * go_bits_has(alive + board->words, bit)]] = ON;
    }
  }
  put_bans(game, out + PLANE_BAN * plane);
  for (int32_t i = 0; i < HISTORY && i < game->moves; i++) {
    int32_t move = game->log[game->moves - 1 - i] & 0x7fff;
    if (move < board->points) out[(size_t)(PLANE_LAST + i) * plane + (size_t)move] = ON;
  }
  int32_t komi = game->to_move == GO_WHITE ? game->rules.komi_half : -game->rules.komi_half;
  if (game->passes) memset(out + PLANE_PASSED * plane, ON, plane);
  memset(out + PLANE_KOMI * plane, clamp7(64 + 2 * komi), plane);
  memset(out + PLANE_SIZE * plane, size_scalar(board->points), plane);
  return GO_OK;
}
