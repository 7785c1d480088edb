#include "game.h"

#include <string.h>

/* An empty region is a connected set of empty points. It belongs to a colour when it touches stones of that colour
 * only. What area and territory scoring make of this is told in docs/spec/rules.md. */

enum { BOTH = GO_BLACK | GO_WHITE };

/* The four cells next to an on-board cell; some may be border. */
static inline void neighbours(const go_board *board, int32_t cell, int32_t out[4]) {
  out[0] = cell - board->stride;
  out[1] = cell - 1;
  out[2] = cell + 1;
  out[3] = cell + board->stride;
}

/* Fills one empty region from `start` and returns its cells in `region`, and the colours it touches in *touches. */
static int32_t flood(const go_board *board, int32_t start, uint8_t *seen, uint16_t *region, int32_t *touches) {
  int32_t count = 0;
  *touches = 0;
  region[count++] = (uint16_t)start;
  seen[start] = 1;
  for (int32_t i = 0; i < count; i++) {
    int32_t near[4];
    neighbours(board, region[i], near);
    for (int32_t k = 0; k < 4; k++) {
      int32_t at = board->colour[near[k]];
      if (at == GO_BLACK || at == GO_WHITE) *touches |= at;
      if (at != GO_EMPTY || seen[near[k]]) continue;
      seen[near[k]] = 1;
      region[count++] = (uint16_t)near[k];
    }
  }
  return count;
}

/* owner[cell]: the colour of the stone, or the colour that the empty region touches alone, or GO_EMPTY.
 * dame[cell]: 1 for empty points whose region touches both colours. */
static void find_owners(const go_board *board, uint8_t *owner, uint8_t *dame) {
  uint8_t seen[GO_MAX_CELLS] = {0};
  uint16_t region[GO_MAX_POINTS];
  memset(owner, GO_EMPTY, (size_t)board->cells);
  memset(dame, 0, (size_t)board->cells);
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    int32_t at = board->colour[cell], touches;
    if (at == GO_BLACK || at == GO_WHITE) owner[cell] = (uint8_t)at;
    if (at != GO_EMPTY || seen[cell]) continue;
    int32_t count = flood(board, cell, seen, region, &touches);
    for (int32_t i = 0; i < count; i++) {
      owner[region[i]] = touches == BOTH ? GO_EMPTY : (uint8_t)touches;
      dame[region[i]] = touches == BOTH;
    }
  }
}

/* Takes the eyes of groups in seki out of `owner`. A group is chains of one colour joined through the empty regions
 * that they surround; it is in seki when one of its stones touches dame. */
static void drop_seki_eyes(const go_board *board, uint8_t *owner, const uint8_t *dame) {
  uint8_t seen[GO_MAX_CELLS] = {0};
  uint16_t stack[GO_MAX_POINTS];
  int32_t depth = 0;
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    if (!dame[cell]) continue;
    int32_t near[4];
    neighbours(board, cell, near);
    for (int32_t k = 0; k < 4; k++) {
      if (!owner[near[k]] || seen[near[k]]) continue;
      seen[near[k]] = 1;
      stack[depth++] = (uint16_t)near[k];
    }
  }
  while (depth) {
    int32_t cell = stack[--depth], near[4];
    neighbours(board, cell, near);
    for (int32_t k = 0; k < 4; k++) {
      if (seen[near[k]] || owner[near[k]] != owner[cell]) continue;
      seen[near[k]] = 1;
      stack[depth++] = (uint16_t)near[k];
    }
  }
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    if (seen[cell] && board->colour[cell] == GO_EMPTY) owner[cell] = GO_EMPTY;
  }
}

int go_game_score(const go_game *game, int32_t *score_half, uint8_t *owner, size_t len) {
  const go_board *board = &game->board;
  uint8_t held[GO_MAX_CELLS], dame[GO_MAX_CELLS], alive[GO_MAX_CELLS];
  int territory = game->rules.scoring == GO_SCORING_TERRITORY;
  int32_t balance = 0;
  if (owner ? len != (size_t)board->points : len != 0) return GO_ERR_ARGUMENT;
  find_owners(board, held, dame);
  if (territory) {
    drop_seki_eyes(board, held, dame);
    balance = game->captured[GO_WHITE] - game->captured[GO_BLACK];
  } else if (game->rules.pass_alive) {
    go_board_pass_alive(board, game->rules.suicide, alive);
    for (int32_t cell = board->stride; cell < board->cells; cell++) {
      if (alive[cell]) held[cell] = alive[cell];
    }
  }
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    if (territory && board->colour[cell] != GO_EMPTY) continue;
    balance += (held[cell] == GO_BLACK) - (held[cell] == GO_WHITE);
  }
  *score_half = 2 * balance - game->rules.komi_half;
  for (int32_t row = 0; owner && row < board->rows; row++) {
    memcpy(owner + row * board->cols, held + (row + 1) * board->stride, (size_t)board->cols);
  }
  return GO_OK;
}
