/* Packed games from anywhere: judged, and laid out whatever the verdict was. */
#include "../src/packed.h"
#include "fuzz.h"

#include <string.h>

static float planes[GO_MAX_POINTS * GO_FEATURE_PLANES], policy[GO_MAX_POINTS + 1], opponent[GO_MAX_POINTS + 1];
static float ownership[GO_MAX_POINTS], board[GO_MAX_POINTS], result, root_value, score;
static uint8_t legal[GO_MAX_POINTS + 1];

/* A row of a game that was found good is in its range. */
static void require_row(const go_packed *facts, int32_t ply, int32_t canvas) {
  const size_t points = (size_t)(canvas * canvas);
  float sum = 0;
  for (size_t i = 0; i < points * GO_FEATURE_PLANES; i++) FUZZ_REQUIRE(planes[i] >= 0 && planes[i] < 4);
  for (size_t i = 0; i <= points; i++) sum += policy[i];
  FUZZ_REQUIRE(sum == 0 || (sum > 0.99f && sum < 1.01f));
  FUZZ_REQUIRE(ply < facts->plies && legal[points] == 1 && result >= -1 && result <= 1 && root_value >= -1 && root_value <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  go_packed facts;
  const go_minibatch out = {planes, legal, policy, opponent, &result, &root_value, &score, ownership, board};
  if (len < 2) return 0;
  const size_t bytes = len - 2;
  uint8_t *game = malloc(bytes ? bytes : 1);
  FUZZ_REQUIRE(game);
  memcpy(game, data + 2, bytes);
  const int32_t canvas = 1 + data[0] % GO_MAX_SIDE;
  const int status = go_packed_facts(game, bytes, &facts);
  const go_segment segment = {game, bytes};
  const go_drawn drawn = {0, bytes, 0, data[1] / 8, data[1] % 8, 0};
  const int laid = go_rows_gather(&segment, 1, &drawn, 1, canvas, &out);
  if (status == GO_OK && drawn.ply < facts.plies && facts.size <= canvas) FUZZ_REQUIRE(laid == GO_OK);
  if (status == GO_OK && laid == GO_OK) require_row(&facts, drawn.ply, canvas);
  free(game);
  return 0;
}

/* ---- good games ------------------------------------------------------------------------------------------ */

/* One row on an empty board, a full search for the pass. */
size_t go_fuzz_seed(uint32_t index, uint8_t *data, size_t capacity) {
  static const int32_t sizes[] = {1, 5, 7, 8, 9, 19};
  if (index >= sizeof sizes / sizeof *sizes) return 0;
  const size_t size = (size_t)sizes[index], points = size * size, set = go_packed_set(points);
  const size_t at = GO_PACKED_HEADER + 2 * set + 8, policy_at = GO_PACKED_ROW + GO_PACKED_PLANES * set;
  const size_t bytes = at + policy_at + go_packed_set(points + 1) + 2;
  go_packed facts;
  FUZZ_REQUIRE(bytes + 2 <= capacity);
  memset(data, 0, bytes + 2);
  data[0] = (uint8_t)(size - 1);
  uint8_t *game = data + 2, *row = game + at;
  game[GO_PACKED_SIZE] = (uint8_t)size;
  game[GO_PACKED_FIRST] = GO_BLACK;
  game[GO_PACKED_ROWS] = game[GO_PACKED_MOVES] = 1;
  go_write_u32(game + GO_PACKED_HEADER + 2 * set, (uint32_t)at);
  go_write_u32(game + GO_PACKED_HEADER + 2 * set + 4, (uint32_t)bytes);
  row[0] = GO_PACKED_FULL;
  row[policy_at + points / 8] = (uint8_t)(1u << points % 8);
  go_write_u16(row + policy_at + go_packed_set(points + 1), 65535);
  FUZZ_REQUIRE(go_packed_facts(game, bytes, &facts) == GO_OK && facts.bad_policy == -1);
  return bytes + 2;
}
