#include "game.h"

/* An empty region is a connected set of empty points. It belongs to a colour when it touches stones of that colour
 * only. What area and territory scoring make of this is told in docs/spec/rules.md. */

/* Empty points connected to stones of the colour through empty points. */
GO_INLINE void reach(const go_board *board, int32_t colour, const uint64_t *empty, uint64_t *out, int32_t words) {
  go_bits_near(out, go_stones_of(board, colour), board->stride, words);
  for (int32_t i = 0; i < words; i++) out[i] &= empty[i];
  go_bits_flood(out, empty, board->stride, words);
}

/* Takes the eyes of groups in seki out of `held`. A group is chains of one colour joined through the empty regions
 * that they surround; it is in seki when one of its stones touches dame. */
GO_INLINE void drop_seki_eyes(const go_board *board, const uint64_t *dame, const uint64_t *empty, uint64_t *held,
                              int32_t words) {
  uint64_t seki[GO_MAX_WORDS];
  go_bits_near(seki, dame, board->stride, words);
  for (int32_t i = 0; i < words; i++) seki[i] &= held[i];
  go_bits_flood(seki, held, board->stride, words);
  for (int32_t i = 0; i < words; i++) held[i] &= ~(seki[i] & empty[i]);
}

/* The points that count for each colour, stones too: two sets. */
GO_INLINE void find_owners(const go_game *game, uint64_t *held, int32_t words) {
  const go_board *board = &game->board;
  uint64_t empty[GO_MAX_WORDS], black[GO_MAX_WORDS], white[GO_MAX_WORDS], dame[GO_MAX_WORDS];
  go_board_empty(board, empty);
  reach(board, GO_BLACK, empty, black, words);
  reach(board, GO_WHITE, empty, white, words);
  for (int32_t i = 0; i < words; i++) {
    dame[i] = black[i] & white[i];
    held[i] = board->bits[i] | (black[i] & ~dame[i]);
    held[words + i] = board->bits[words + i] | (white[i] & ~dame[i]);
  }
  if (game->rules.scoring == GO_SCORING_TERRITORY) {
    drop_seki_eyes(board, dame, empty, held, words);
    drop_seki_eyes(board, dame, empty, held + words, words);
  } else if (game->rules.pass_alive) {
    uint64_t alive[2 * GO_MAX_WORDS];
    go_board_pass_alive(board, game->rules.suicide, alive);
    for (int32_t i = 0; i < words; i++) {
      held[i] = (held[i] & ~alive[words + i]) | alive[i];
      held[words + i] = (held[words + i] & ~alive[i]) | alive[words + i];
    }
  }
}

int go_game_score(const go_game *game, int32_t *score_half, uint8_t *owner, size_t len) {
  const go_board *board = &game->board;
  const int32_t words = board->words;
  uint64_t held[2 * GO_MAX_WORDS];
  if (owner ? len != (size_t)board->points : len != 0) return GO_ERR_ARGUMENT;
  GO_BY_WORDS(words, find_owners, game, held);
  int32_t balance = go_bits_count(held, words) - go_bits_count(held + words, words);
  if (game->rules.scoring == GO_SCORING_TERRITORY) {
    /* Stones do not count, those taken off do. */
    balance -= board->stones[GO_BLACK] - board->stones[GO_WHITE];
    balance += game->captured[GO_WHITE] - game->captured[GO_BLACK];
  }
  *score_half = 2 * balance - game->rules.komi_half;
  if (owner) go_board_write(board, held, owner);
  return GO_OK;
}
