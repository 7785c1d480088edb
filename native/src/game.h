#ifndef GO_GAME_H
#define GO_GAME_H
/* The engine's inside view of a game: the board with its chains, the superko history and the move list.
 *
 * Points on the public face are row-major, p = row * cols + col. Inside, the board has a border: a cell is
 * (row + 1) * stride + col with stride = cols + 1, so that the four neighbours of a cell are cell +- 1 and
 * cell +- stride and never wrap. Cell 0 is always border and stands for "none". In sets of points (bits.h) the bit of
 * a cell is cell - stride.
 *
 * Fields may be read by the search; only board.c, history.c and game.c write them. */
#include "bits.h"
#include "go_engine.h"

enum {
  GO_MAX_SIDE = 19,
  GO_MAX_POINTS = GO_MAX_SIDE * GO_MAX_SIDE,
  GO_MAX_CELLS = (GO_MAX_SIDE + 2) * (GO_MAX_SIDE + 1),
  GO_MAX_MOVES = 65534,                    /* a game without a cap ends here */
  GO_BORDER = 3                            /* the colour of border cells */
};

_Static_assert(GO_MAX_SIDE * (GO_MAX_SIDE + 1) <= 64 * GO_MAX_WORDS, "a set holds every point");

/* ---- board ---------------------------------------------------------------------------------------------- */

/* One cell of a chain. Chains are circular lists through `next`; `size` and `liberties` hold at the head alone. */
typedef struct go_cell {
  uint16_t head, next, size, liberties;
} go_cell;

typedef struct go_board {
  int32_t rows, cols, stride, points, cells, words;
  int32_t stones[3];                   /* by colour; [0] is not used */
  uint64_t hash;                       /* Zobrist, of the stones alone */
  uint64_t onboard[GO_MAX_WORDS];      /* every point */
  uint64_t bits[2 * GO_MAX_WORDS];     /* `words` of black's stones, then `words` of white's */
  uint64_t heads[GO_MAX_WORDS];        /* of all chains */
  uint8_t colour[GO_MAX_CELLS];
  go_cell cell[GO_MAX_CELLS];
  uint64_t chain_hash[GO_MAX_CELLS];   /* of a chain's stones, at its head */
  uint64_t liberty[GO_MAX_CELLS * GO_MAX_WORDS]; /* `words` of a chain's liberties, from head * words */
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
static inline const uint64_t *go_stones_of(const go_board *board, int32_t colour) {
  return board->bits + (colour - 1) * board->words;
}
/* Empty points into `out`, `words` of them. */
static inline void go_board_empty(const go_board *board, uint64_t *out) {
  const int32_t words = board->words;
  for (int32_t i = 0; i < words; i++) out[i] = board->onboard[i] & ~(board->bits[i] | board->bits[words + i]);
}

/* Makes the empty board; sides are 1..19. */
void go_board_init(go_board *board, int32_t rows, int32_t cols);
/* Takes every stone off. */
void go_board_clear(go_board *board);
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

enum { GO_KINDS = 1024 }; /* a power of two */

typedef struct go_history {
  uint64_t kinds[GO_KINDS / 64]; /* a bit for each kind of board that was there, see go_board_kind */
  int32_t most[3];               /* stones that a colour had on any of the boards, by colour */
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

/* Boards with equal numbers of stones have equal kinds, and few others do. Most moves lead to numbers of stones that
 * never were, so that nothing has to be looked up. */
static inline uint32_t go_board_kind(int32_t black, int32_t white) { return (uint32_t)(37 * black + white) % GO_KINDS; }
static inline int go_history_has_kind(const go_history *history, uint32_t kind) {
  return (int)(history->kinds[kind / 64] >> (kind % 64) & 1);
}
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
/* Adds a board, with its numbers of stones by colour, and `to_move`, or marks the one that is there. */
void go_history_add(go_history *history, uint64_t hash, const int32_t stones[3], const uint64_t *bits,
                    int32_t to_move);

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
/* The on-board points where ko or superko alone forbids a stone to the side to move, also after the end of the game:
 * `words` of a set. */
void go_game_bans(const go_game *game, uint64_t *bans);
/* Plays a move of the side to move that is known to be on the board: `cell` is the move's, 0 for the pass. */
int go_game_play_cell(go_game *game, int32_t move, int32_t cell);
/* Benson's areas as two sets, `words` of black's, then `words` of white's; see docs/spec/rules.md. */
void go_board_pass_alive(const go_board *board, int32_t suicide, uint64_t area[2 * GO_MAX_WORDS]);
/* The colour that holds each point, from two such sets: points of them. */
void go_board_write(const go_board *board, const uint64_t *sets, uint8_t *out);
/* GO_OK if every field lies in its range, else GO_ERR_ARGUMENT. */
int go_rules_check(const go_rules *rules);

#endif
