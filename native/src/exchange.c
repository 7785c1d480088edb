#include "exchange.h"

#include <stdlib.h>
#include <string.h>

void go_exchange_init(go_exchange *exchange) { *exchange = (go_exchange){.last = &exchange->first}; }

void go_exchange_free(go_exchange *exchange) {
  for (go_ticket *ticket = exchange->out, *next; ticket; ticket = next) {
    next = ticket->next;
    free(ticket);
  }
}

void go_exchange_send(go_exchange *exchange, go_parcel *parcel) {
  ++*parcel->away;
  parcel->next = NULL;
  *exchange->last = parcel;
  exchange->last = &parcel->next;
}

static void bring_back(go_parcel *parcel) {
  if (--*parcel->away == 0) pthread_cond_signal(parcel->back);
}

/* ---- out ------------------------------------------------------------------------------------------------ */

static int goes_with(const go_leaf *leaf, const go_leaf *oldest) {
  return leaf->net == oldest->net && leaf->size == oldest->size;
}

/* Takes up to `most` parcels that go with the oldest off the list, in order. */
static int32_t collect(go_exchange *exchange, go_parcel **into, int32_t most) {
  const go_leaf *oldest = exchange->first->leaf;
  int32_t count = 0;
  go_parcel **link = &exchange->first;
  while (*link && count < most) {
    go_parcel *parcel = *link;
    if (goes_with(parcel->leaf, oldest)) {
      into[count++] = parcel;
      *link = parcel->next;
    } else {
      link = &parcel->next;
    }
  }
  while (*link) link = &(*link)->next;
  exchange->last = link;
  return count;
}

int go_exchange_pull(go_exchange *exchange, go_pull *pull, uint8_t *planes, size_t len) {
  const go_leaf *oldest = exchange->first->leaf;
  const size_t each = GO_FEATURE_PLANES * go_leaf_points(oldest), room = len / each;
  int32_t most = 0;
  for (const go_parcel *parcel = exchange->first; parcel && (size_t)most < room; parcel = parcel->next)
    most += goes_with(parcel->leaf, oldest);
  if (most == 0) return GO_ERR_ARGUMENT;
  go_ticket *ticket = malloc(sizeof *ticket + (size_t)most * sizeof *ticket->parcel);
  if (!ticket) return GO_ERR_MEMORY;
  *pull = (go_pull){.ticket = ++exchange->tickets, .net = oldest->net, .size = oldest->size};
  pull->count = collect(exchange, ticket->parcel, most);
  ticket->number = pull->ticket;
  ticket->count = pull->count;
  ticket->lost = 0;
  ticket->next = exchange->out;
  exchange->out = ticket;
  for (int32_t i = 0; i < pull->count; i++)
    memcpy(planes + (size_t)i * each, go_leaf_planes(ticket->parcel[i]->leaf), each);
  return GO_OK;
}

/* ---- back ----------------------------------------------------------------------------------------------- */

int go_exchange_push(go_exchange *exchange, uint64_t number, const go_output *outputs, int32_t count) {
  go_ticket **link = &exchange->out;
  while (*link && (*link)->number != number) link = &(*link)->next;
  go_ticket *ticket = *link;
  if (!ticket || ticket->count != count) return GO_ERR_ARGUMENT;
  *link = ticket->next;
  for (int32_t i = 0; i < count && !ticket->lost; i++) {
    go_parcel *parcel = ticket->parcel[i];
    go_output *to = &parcel->output;
    memcpy(to->policy, outputs[i].policy, (go_leaf_points(parcel->leaf) + 1) * sizeof *to->policy);
    to->value = outputs[i].value;
    to->score_mean = outputs[i].score_mean;
    bring_back(parcel);
  }
  free(ticket);
  return GO_OK;
}

void go_exchange_clear(go_exchange *exchange) {
  for (go_parcel *parcel = exchange->first; parcel; parcel = parcel->next) bring_back(parcel);
  exchange->first = NULL;
  exchange->last = &exchange->first;
  for (go_ticket *ticket = exchange->out; ticket; ticket = ticket->next) {
    for (int32_t i = 0; i < ticket->count && !ticket->lost; i++) bring_back(ticket->parcel[i]);
    ticket->lost = 1;
  }
}
