#ifndef GO_BATCH_H
#define GO_BATCH_H
/* Evaluation of many seats' leaves within one thread: all of one network and board size in one run. */
#include "seat.h"

typedef struct go_batch go_batch;

/* For `seats` leaves at most. */
int go_batch_new(int32_t kernel, int32_t seats, go_batch **out);
void go_batch_free(go_batch *batch);
/* Scratch memory for a job's networks, one for each network that games in flight use; go_batch_leave after the game,
 * whatever go_batch_join gave. */
int go_batch_join(go_batch *batch, const go_job *job);
void go_batch_leave(go_batch *batch, const go_job *job);
/* Evaluates the leaves of all seats that wait, and hands the outputs to their seats. */
void go_batch_run(go_batch *batch, go_seat *seat, int32_t seats);

#endif
