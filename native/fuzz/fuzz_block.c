/* Game blocks from anywhere: the first byte chooses the rules, the rest claims to be a block. */
#include "../src/block.h"
#include "../src/game.h"
#include "fuzz.h"

#include <string.h>

static go_rules rules_of(uint8_t choice) {
  int32_t size = 2 + choice % 8;
  return (go_rules){.rows = size, .cols = size, .ko = choice / 8 % 3, .suicide = choice / 24 % 2, .pass_alive = 1,
                    .settled_end = choice / 48 % 2, .komi_half = 7, .move_cap = 3 * size * size};
}

/* Every row of an accepted block is in its range, and sums hold. */
static void read_rows(const go_rules *rules, const uint8_t *block, size_t len) {
  int32_t size, plies, count;
  FUZZ_REQUIRE(go_block_shape(block, len, &size, &plies) == GO_OK);
  size_t n = (size_t)plies, points = (size_t)size * (size_t)size, width = points + 1;
  go_rows rows = {malloc(n * GO_FEATURE_PLANES * points), malloc(2 * n * width), malloc(2 * n * width), malloc(n),
                  malloc(4 * n), malloc(n * points), malloc(n), malloc(4 * n)};
  FUZZ_REQUIRE(go_rows_read(rules, block, len, &rows, plies, &count) == GO_OK && count == plies);
  for (size_t i = 0; i < n * GO_FEATURE_PLANES * points; i++) FUZZ_REQUIRE(rows.planes[i] <= 127);
  for (size_t i = 0; i < n; i++) {
    uint32_t sum = 0;
    for (size_t m = 0; m < width; m++) sum += rows.policy[i * width + m];
    FUZZ_REQUIRE(sum == (rows.kind[i] == GO_PLY_FULL ? 65535u : 0));
    FUZZ_REQUIRE(rows.value[i] == (rows.score[i] > 0) - (rows.score[i] < 0));
  }
  free(rows.planes);
  free(rows.policy);
  free(rows.opponent_policy);
  free(rows.value);
  free(rows.score);
  free(rows.ownership);
  free(rows.kind);
  free(rows.root_value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  int32_t bad_ply;
  if (!len) return 0;
  go_rules rules = rules_of(data[0]);
  /* A copy of the exact length, so that the sanitizer sees a read past its end. */
  uint8_t *block = malloc(len - 1 ? len - 1 : 1);
  FUZZ_REQUIRE(block);
  memcpy(block, data + 1, len - 1);
  int status = go_block_check(&rules, block, len - 1, &bad_ply);
  FUZZ_REQUIRE((status == GO_OK) == (bad_ply == -1));
  if (status == GO_OK) read_rows(&rules, block, len - 1);
  free(block);
  return 0;
}

/* ---- good blocks ----------------------------------------------------------------------------------------- */

size_t go_fuzz_seed(uint32_t index, uint8_t *data, size_t capacity) {
  static const uint8_t choices[] = {0, 3, 5, 11, 19, 27, 51, 77, 125};
  uint16_t moves[1024];
  uint8_t legal[GO_MAX_POINTS + 1];
  go_game *game;
  int32_t score;
  uint32_t chance = 12345 + index;
  if (index >= sizeof choices) return 0;
  go_rules rules = rules_of(choices[index]);
  FUZZ_REQUIRE(go_game_new(&rules, &game) == GO_OK);
  int32_t pass = rules.rows * rules.cols, plies = 0;
  while (!game->end) {
    go_game_legal(game, legal, (size_t)pass + 1);
    int32_t move = pass;
    for (int32_t try = 0; try < 64 && move == pass; try++) {
      chance = chance * 1664525 + 1013904223;
      if (legal[(chance >> 8) % (uint32_t)pass]) move = (int32_t)((chance >> 8) % (uint32_t)pass);
    }
    moves[plies++] = (uint16_t)move;
    go_game_play(game, move, GO_EMPTY);
  }
  go_game_score(game, &score, NULL, 0);
  size_t opening = index % 2, searched = (size_t)plies - opening, width = (size_t)pass + 1;
  size_t len = go_block_bytes(rules.rows, plies, (int32_t)searched);
  FUZZ_REQUIRE(len + 1 <= capacity);
  memset(data, 0, len + 1);
  data[0] = choices[index];
  uint8_t *block = data + 1, *kind = block + GO_BLOCK_HEADER + 2 * (size_t)plies;
  block[GO_BLOCK_SIZE] = (uint8_t)rules.rows;
  block[GO_BLOCK_END] = (uint8_t)game->end;
  block[GO_BLOCK_RESULT] = (uint8_t)go_result_of(score);
  block[GO_BLOCK_OPENING_MOVES] = (uint8_t)opening;
  go_write_u16(block + GO_BLOCK_KOMI, (uint16_t)rules.komi_half);
  go_write_u32(block + GO_BLOCK_SCORE, (uint32_t)score);
  go_write_u16(block + GO_BLOCK_MOVES, (uint16_t)plies);
  for (int32_t i = 0; i < plies; i++) go_write_u16(block + GO_BLOCK_HEADER + 2 * (size_t)i, moves[i]);
  for (size_t i = 0; i < searched; i++) {
    uint8_t *visits = kind + searched + 2 * i * width, *target = visits + 2 * searched * width;
    kind[i] = i % 3 ? GO_PLY_FULL : GO_PLY_FAST;
    go_write_u16(visits + 2 * moves[opening + i], 9);
    if (kind[i] == GO_PLY_FULL) go_write_u16(target + 2 * moves[opening + i], 65535);
  }
  go_game_free(game);
  int32_t bad_ply;
  FUZZ_REQUIRE(go_block_check(&rules, block, len, &bad_ply) == GO_OK);
  return len + 1;
}
