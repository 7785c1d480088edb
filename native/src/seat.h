#ifndef GO_SEAT_H
#define GO_SEAT_H
/* A seat: room for one game in flight, played whole or replayed against a block, which stops wherever it needs a network.
 *
 * Games come and go, the memory of their searches stays. A seat is one thread's, and so is the cache it uses. */
#include "leaf.h"
#include "record.h"
#include "search.h"

enum { GO_OPENING_MAX = 64 };

/* A job and what came of it. `block` is to be replayed; NULL: the game is to be played, on from `begun` unless that is
 * NULL. */
typedef struct go_task {
  struct go_task *next; /* in a list of the pool */
  go_job job;
  uint8_t *block, *begun;
  size_t block_len, begun_len;
  go_done done;
  uint8_t *played, *digests; /* the block of a played game or what a stopped one has; D of every ply; malloc'ed */
} go_task;

typedef struct go_seat {
  go_task *task; /* NULL: the seat is free */
  go_cache *cache;
  go_search *search;
  go_game *game;
  go_record record;
  go_block block;   /* of a replay */
  uint64_t game_no; /* in the cache */
  int status;       /* not GO_OK: the game ends with it */
  int waits;        /* for what the network says of `leaf` */
  go_leaf leaf;
} go_seat;

/* GO_OK if a pool takes the job: square board, area scoring, a move cap, an opening that fits and a valid config. */
int go_job_check(const go_job *job);

int go_seat_init(go_seat *seat, go_cache *cache);
void go_seat_clear(go_seat *seat);
/* Begins a task's game on a free seat; `game_no` is new in its cache. */
void go_seat_begin(go_seat *seat, go_task *task, uint64_t game_no);
/* Goes on. 1: seat->leaf waits for its network; 0: the task is done, and the seat is free. `stop` is read now and then. */
int go_seat_advance(go_seat *seat, const atomic_int *stop);
/* Takes what the network said of the leaf's planes. */
void go_seat_answer(go_seat *seat, const go_output *output);
/* The next advance ends the game with this status, or an earlier one. */
void go_seat_fail(go_seat *seat, int status);

#endif
