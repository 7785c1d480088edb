#ifndef GO_EXCHANGE_H
#define GO_EXCHANGE_H
/* Leaves on their way to an evaluator outside and back: they wait, go out under a ticket, and come back with outputs.
 *
 * Every call is made under the pool's lock. */
#include <pthread.h>

#include "leaf.h"

/* One seat's leaf. While it is away neither the leaf nor the parcel is touched by its worker. */
typedef struct go_parcel {
  struct go_parcel *next; /* among those that wait */
  const go_leaf *leaf;
  int32_t *away;          /* how many of its group are away */
  pthread_cond_t *back;   /* signalled when that comes to 0 */
  go_output output;
} go_parcel;

/* Parcels that are out, in the order of the outputs to come. */
typedef struct go_ticket {
  struct go_ticket *next;
  uint64_t number;
  int32_t count, lost; /* lost: nobody waits for the outputs any more */
  go_parcel *parcel[];
} go_ticket;

typedef struct go_exchange {
  go_parcel *first, **last; /* that wait, the oldest first */
  go_ticket *out;
  uint64_t tickets;
} go_exchange;

void go_exchange_init(go_exchange *exchange);
/* Frees tickets that were never pushed. */
void go_exchange_free(go_exchange *exchange);
/* A parcel begins to wait; its group counts it. */
void go_exchange_send(go_exchange *exchange, go_parcel *parcel);
/* Takes those that go with the oldest, as many as fit into `len` bytes. Some parcel must wait. */
int go_exchange_pull(go_exchange *exchange, go_pull *pull, uint8_t *planes, size_t len);
/* Brings the outputs of a ticket back. */
int go_exchange_push(go_exchange *exchange, uint64_t ticket, const go_output *outputs, int32_t count);
/* All parcels are back, without outputs. Tickets that are out may still be pushed. */
void go_exchange_clear(go_exchange *exchange);

#endif
