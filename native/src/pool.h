#ifndef GO_POOL_H
#define GO_POOL_H
/* The pool inside: one lock over the queue, what is finished, and the leaves that are evaluated outside.
 *
 * A worker takes the lock when a game begins or ends, and once a batch when the evaluation is outside. */
#include <pthread.h>

#include "batch.h"
#include "exchange.h"

/* Tasks in order. */
typedef struct go_list {
  go_task *first, **last;
} go_list;

static inline void go_list_push(go_list *list, go_task *task) {
  task->next = NULL;
  *list->last = task;
  list->last = &task->next;
}

/* The first task, which must be there. */
static inline go_task *go_list_pop(go_list *list) {
  go_task *task = list->first;
  list->first = task->next;
  if (!list->first) list->last = &list->first;
  return task;
}

/* Seats that go on together. While some are away none is touched. */
typedef struct go_group {
  go_seat *seat;
  go_parcel *parcel; /* [seats] when the evaluation is outside */
  int32_t seats;
  int32_t playing;   /* of them; written by the worker, under the lock */
  int32_t away;      /* parcels that are away; under the lock */
} go_group;

/* One thread and its games: one group, or two in turn when the evaluation is outside. */
typedef struct go_worker {
  struct go_pool *pool;
  pthread_t thread;
  pthread_cond_t wake;
  int asleep;        /* waits for `wake`; under the lock */
  go_cache *cache;
  go_batch *batch;   /* NULL: the evaluation is outside */
  go_seat *seat;     /* all of them */
  go_parcel *parcel;
  go_group group[2];
  int32_t groups, turn;
  uint64_t games;    /* begun */
} go_worker;

struct go_pool {
  pthread_mutex_t lock;
  pthread_cond_t result, leaves;
  go_list queue, finished;
  go_task *kept;      /* returned by wait, not yet taken */
  int32_t pending;    /* given, not yet returned by wait */
  int32_t playing;    /* with a worker */
  int closing;
  atomic_int queued;  /* length of the queue; written under the lock */
  atomic_int stop;
  go_exchange exchange;
  int32_t threads, games, kernel;
  int32_t started;    /* threads that are there */
  go_worker worker[]; /* [threads] */
};

/* ---- worker.c ------------------------------------------------------------------------------------------- */

/* Makes a zeroed worker and starts its thread. */
int go_worker_start(go_worker *worker, go_pool *pool);
/* Waits for the thread's end, and frees what the worker owns. */
void go_worker_end(go_worker *worker);
/* Wakes the one of the sleeping workers that has the fewest games, or nobody. Under the lock. */
void go_worker_wake(go_pool *pool);

#endif
