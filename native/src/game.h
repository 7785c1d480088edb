#ifndef GO_GAME_H
#define GO_GAME_H
/* The engine's inside view of a game: the board with its chains, the superko history and the move list.
 *
 * Points on the public face are row-major, p = row * cols + col. Inside, the board has a border: a cell is
 * (row + 1) * stride + col with stride = cols + 1, so that the four neighbours of a cell are cell +- 1 and
 * cell +- stride and never wrap. Cell 0 is always border and stands for "none".
 *
 * Fields may be read by the search; only board.c, history.c and game.c write them. */
#include "go_engine.h"

enum {
  GO_MAX_SIDE = 19,
  GO_MAX_POINTS = GO_MAX_SIDE * GO_MAX_SIDE,
  GO_MAX_CELLS = (GO_MAX_SIDE + 2) * (GO_MAX_SIDE + 1),
  GO_MAX_WORDS = (GO_MAX_CELLS + 63) / 64, /* of one bit a cell */
  GO_MAX_MOVES = 65534,                    /* a game without a cap ends here */
  GO_BORDER = 3                            /* the colour of border cells */
};

/* ---- board ---------------------------------------------------------------------------------------------- */

/* One cell of a chain. Chains are circular lists through `next`; `size` and `liberties` hold at the head alone. */
typedef struct go_cell {
  uint16_t head, next, size, liberties;
} go_cell;

typedef struct go_board {
  int32_t rows, cols, stride, points, cells, words;
  uint8_t colour[GO_MAX_CELLS];
  go_cell cell[GO_MAX_CELLS];
  uint64_t bits[2 * GO_MAX_WORDS]; /* `words` of black's cells, then `words` of white's */
  uint64_t hash;                   /* Zobrist, of the stones alone */
} go_board;

/* What a move would do to a board, found without playing it. */
typedef struct go_effect {
  int32_t status;     /* GO_OK, GO_ERR_OCCUPIED or GO_ERR_SUICIDE */
  int32_t taken;      /* stones that come off, the own ones at a suicide */
  uint16_t chains[4]; /* heads of the chains that come off */
  int32_t count;      /* of `chains` */
  int32_t suicide;    /* the moved stone comes off as well */
  uint64_t hash;      /* of the resulting board */
} go_effect;

static inline int32_t go_cell_of(const go_board *board, int32_t point) {
  return (point / board->cols + 1) * board->stride + point % board->cols;
}
static inline int32_t go_point_of(const go_board *board, int32_t cell) {
  return (cell / board->stride - 1) * board->cols + cell % board->stride;
}
static inline int32_t go_other(int32_t colour) { return 3 - colour; }

/* Makes the empty board; sides are 1..19. */
void go_board_init(go_board *board, int32_t rows, int32_t cols);
/* Copies a board into another one of any size. */
void go_board_copy(go_board *dst, const go_board *src);
/* Judges a stone of `colour` on an on-board cell by occupation and suicide. */
void go_board_effect(const go_board *board, int32_t cell, int32_t colour, int32_t suicide, go_effect *out);
/* Plays what `effect` found for this cell and colour. */
void go_board_apply(go_board *board, int32_t cell, int32_t colour, const go_effect *effect);
/* The bits of the board that `effect` leads to, 2 * words of them. */
void go_board_bits_after(const go_board *board, int32_t cell, int32_t colour, const go_effect *effect, uint64_t *bits);
/* Puts a stone on an empty cell without taking anything; 0 liberties are possible until the setup is complete. */
void go_board_place(go_board *board, int32_t cell, int32_t colour);

/* ---- history: which boards were there, and who was to move ------------------------------------------------ */

typedef struct go_history {
  uint64_t *boards;     /* count * width words */
  uint64_t *hashes;
  uint8_t *seen;        /* GO_BLACK: black was to move there, GO_WHITE: white; both are or-ed */
  uint16_t *slots;      /* open addressing, position + 1; 0 is free */
  uint32_t count;       /* positions, at most 65535 */
  uint32_t slot_count;  /* a power of two, at least 2 * count; or 0 */
  uint32_t width;       /* 2 * board.words */
  uint32_t capacity;    /* positions that hashes, seen and slots have memory for */
  size_t board_words;   /* words that boards has memory for */
} go_history;

void go_history_free(go_history *history);
/* Empties the history for boards of `width` words. Memory is kept. */
void go_history_clear(go_history *history, uint32_t width);
int go_history_copy(go_history *dst, const go_history *src);
/* The position's number, or -1. Equal boards, not equal hashes, are found. */
int32_t go_history_find(const go_history *history, uint64_t hash, const uint64_t *bits);
/* 1 if any stored board has this hash: a cheap first look. */
int go_history_may_hold(const go_history *history, uint64_t hash);
/* Makes room for one more position: go_history_add needs it before each call. */
int go_history_reserve(go_history *history);
/* Adds a board with `to_move`, or marks the one that is there. */
void go_history_add(go_history *history, uint64_t hash, const uint64_t *bits, int32_t to_move);

/* ---- game ------------------------------------------------------------------------------------------------- */

struct go_game {
  go_rules rules;
  go_board board;
  go_history history;  /* empty under simple ko */
  int32_t to_move;
  int32_t end;         /* GO_END_* */
  int32_t moves;       /* played; log[0..moves) */
  int32_t passes;      /* in a row, at the end of the log */
  int32_t ko;          /* the cell simple ko forbids to the side to move, or 0 */
  int32_t captured[3]; /* by colour of the stones */
  uint16_t *log;       /* move | 0x8000 when white played it */
  int32_t log_capacity;
};

static inline int32_t go_game_pass(const go_game *game) { return game->board.points; }

/* Makes `dst` (any game that go_game_new or go_game_copy gave) equal to `src`. Allocates only when the memory that
 * dst already has is too small. GO_ERR_MEMORY leaves dst as it was. */
int go_game_copy_into(go_game *dst, const go_game *src);
/* 1 if ko or superko alone forbids the side to move this on-board cell, also after the end of the game. */
int go_game_ban(const go_game *game, int32_t cell);
/* Benson's areas into `area` by cell (GO_BLACK, GO_WHITE, GO_EMPTY); see docs/spec/rules.md. */
void go_board_pass_alive(const go_board *board, int32_t suicide, uint8_t area[GO_MAX_CELLS]);
/* GO_OK if every field lies in its range, else GO_ERR_ARGUMENT. */
int go_rules_check(const go_rules *rules);

#endif
