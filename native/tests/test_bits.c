/* Sets of board points, against loops over bits and over neighbours. */
#include "../src/game.h"
#include "check.h"
#include "random_net.h"

/* Every place of every bit, by looking at each. */
static void test_bits(void) {
  uint64_t state = 3;
  for (int32_t round = 0; round < 2000; round++) {
    const uint64_t x = draw_word(&state) >> draw_between(&state, 0, 59) | 1;
    int32_t k = 0;
    for (int32_t bit = 0; bit < 64; bit++) {
      if (x >> bit & 1) CHECK_EQ(go_select(x, k++), bit);
    }
    CHECK_EQ(go_popcount(x), k);
  }
  CHECK_EQ(go_select(UINT64_MAX, 63), 63);
  CHECK_EQ(go_popcount(UINT64_MAX), 64);
}

/* The points connected to one point within random masks, by sets and by following neighbours. */
static void test_floods(void) {
  static const int32_t sides[][2] = {{1, 1}, {1, 19}, {19, 1}, {7, 7}, {8, 8}, {9, 9}, {13, 13}, {5, 18}, {19, 19}};
  uint64_t state = 4;
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    for (int32_t round = 0; round < 50; round++) {
      go_board board;
      go_board_init(&board, sides[i][0], sides[i][1]);
      const int32_t start = go_cell_of(&board, draw_between(&state, 0, board.points - 1));
      uint64_t mask[GO_MAX_WORDS] = {0}, set[GO_MAX_WORDS] = {0}, wanted[GO_MAX_WORDS] = {0};
      int32_t stack[GO_MAX_POINTS], depth = 0;
      for (int32_t p = 0; p < board.points; p++) {
        const int32_t cell = go_cell_of(&board, p);
        if (cell == start || draw_between(&state, 0, 2)) go_bits_flip(mask, cell - board.stride);
        else board.colour[cell] = GO_BORDER;
      }
      go_bits_flip(set, start - board.stride);
      go_bits_flood(set, mask, board.stride, board.words);
      stack[depth++] = start;
      board.colour[start] = GO_BLACK;
      while (depth) {
        const int32_t at = stack[--depth], near[4] = {at - board.stride, at - 1, at + 1, at + board.stride};
        go_bits_flip(wanted, at - board.stride);
        for (int k = 0; k < 4; k++) {
          if (board.colour[near[k]] != GO_EMPTY) continue;
          board.colour[near[k]] = GO_BLACK;
          stack[depth++] = near[k];
        }
      }
      CHECK(!memcmp(set, wanted, sizeof set));
    }
  }
}

int main(void) {
  test_bits();
  test_floods();
  return CHECK_RESULT;
}
