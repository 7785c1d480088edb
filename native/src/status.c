#include "go_engine.h"

const char *go_status_text(int status) {
  switch (status) {
  case GO_OK: return "No error.";
  case GO_ERR_ARGUMENT: return "An argument lies outside its contract.";
  case GO_ERR_MEMORY: return "There is not enough memory.";
  case GO_ERR_OCCUPIED: return "The point is occupied.";
  case GO_ERR_KO: return "The move retakes a ko at once.";
  case GO_ERR_SUPERKO: return "The move repeats an earlier position.";
  case GO_ERR_SUICIDE: return "The move would leave its own stones without a liberty.";
  case GO_ERR_TURN: return "The other colour is to move.";
  case GO_ERR_FINISHED: return "The game is over.";
  case GO_ERR_FORMAT: return "The bytes do not have the format they claim to have.";
  case GO_ERR_BOUNDS: return "A number lies outside what the exact arithmetic allows.";
  case GO_ERR_MISMATCH: return "The replay differs from the record.";
  case GO_ERR_KERNEL: return "This machine or build does not have the kernel.";
  case GO_ERR_STOPPED: return "The work was stopped before it was done.";
  default: return "The status is unknown.";
  }
}
