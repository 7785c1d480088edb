/* Light playouts: random games to two passes or the cap, for measuring the rules and for pinning them. */
#include "game.h"
#include "random.h"

enum { PURPOSE_PLAYOUT = 4 };

/* Words for choices, four a block. */
typedef struct chance {
  go_stream stream;
  uint32_t word[4];
  int32_t used;
} chance;

static uint32_t below(chance *chance, uint32_t n) {
  if (chance->used == 4) {
    go_stream_words(&chance->stream, chance->word);
    chance->used = 0;
  }
  return (uint32_t)((uint64_t)chance->word[chance->used++] * n >> 32);
}

/* Empty points that are no eye of the side to move: next to an empty point or to a stone of the other colour. */
GO_INLINE void find_candidates(const go_game *game, uint64_t *candidates, int32_t words) {
  const go_board *board = &game->board;
  const uint64_t *own = go_stones_of(board, game->to_move);
  uint64_t others[GO_MAX_WORDS], near[GO_MAX_WORDS];
  for (int32_t i = 0; i < words; i++) others[i] = board->onboard[i] & ~own[i];
  go_bits_near(near, others, board->stride, words);
  go_board_empty(board, candidates);
  for (int32_t i = 0; i < words; i++) candidates[i] &= near[i];
}

/* Plays a candidate, each legal one with the same chance, or passes; returns the move, or -1 without memory. */
GO_INLINE int32_t play_random(go_game *game, chance *chance, int32_t words) {
  const go_board *board = &game->board;
  uint64_t candidates[GO_MAX_WORDS];
  find_candidates(game, candidates, words);
  for (int32_t count = go_bits_count(candidates, words); count; count--) {
    int32_t k = (int32_t)below(chance, (uint32_t)count), i = 0;
    for (int32_t here; i + 1 < words && k >= (here = go_popcount(candidates[i])); i++) k -= here;
    const int32_t bit = 64 * i + go_select(candidates[i], k), cell = bit + board->stride;
    const int32_t move = go_point_of(board, cell);
    const int status = go_game_play_cell(game, move, cell);
    if (status == GO_OK) return move;
    if (status == GO_ERR_MEMORY) return -1;
    go_bits_flip(candidates, bit);
  }
  return go_game_play_cell(game, board->points, 0) == GO_OK ? board->points : -1;
}

int go_playouts(const go_rules *rules, int32_t count, const uint8_t seed[32], go_playouts_result *result) {
  const uint64_t prime = 0x100000001b3u;
  go_game *game;
  *result = (go_playouts_result){.hash = 0xcbf29ce484222325u};
  if (count < 0) return GO_ERR_ARGUMENT;
  int status = go_game_new(rules, &game);
  if (status) return status;
  const int32_t words = game->board.words;
  for (int32_t i = 0; !status && i < count; i++) {
    chance chance = {go_stream_open(seed, (uint32_t)i, PURPOSE_PLAYOUT, 0), {0}, 4};
    int32_t score;
    if (i) go_game_clear(game);
    while (!status && !game->end) {
      const int32_t move = GO_BY_WORDS(words, play_random, game, &chance);
      if (move < 0) status = GO_ERR_MEMORY;
      result->hash = (result->hash ^ (uint64_t)move) * prime;
    }
    go_game_score(game, &score, NULL, 0);
    result->hash = (result->hash ^ (uint32_t)score) * prime;
    result->moves += game->moves;
    result->black_wins += score > 0;
  }
  go_game_free(game);
  return status;
}
