/* What a session is: a network's plans on one device. */
#ifndef CLARET_TRAIN_SESSION_H
#define CLARET_TRAIN_SESSION_H

#include <signal.h>

#include "data/data.h"
#include "graph/network.h"
#include "op/batch.h"
#include "op/update.h"
#include "rt/rt.h"
#include "train/choices.h"
#include "train/loss.h"
#include "train/options.h"

/* A graph planned and made ready at one batch size. */
struct claret_engine {
    struct claret_graph *graph;
    struct claret_plan *plan;
    struct claret_exec *exec;
    struct claret_stage_layout layout;
    int64_t batch;
};

/* A batch in flight: the host memory that its upload reads, and the step that reads its stage slot. */
struct claret_flight {
    struct claret_ticket *upload, *step;
    struct claret_loader *loader; /* owns `batch`, NULL: `memory` was used */
    struct claret_batch batch;
    unsigned char *memory; /* a slot of the session's own, NULL until it is needed */
};

/* What tests in the middle of a training (validation.h) have told. */
struct claret_validated {
    bool any, due; /* there was one; one is to be made before the next step */
    double best;   /* accuracy, or the loss with another sign */
    size_t since;  /* tests that were not better */
    double scale;  /* plateau: of the rate */
    double plateau_best;
    size_t plateau_bad; /* tests without a lower loss */
};

/* Where a training stands: between two of its steps. */
struct claret_progress {
    size_t steps, images, updates; /* done */
    double seconds, epoch_seconds; /* spent, of them in this epoch */
    double epoch_loss;             /* sum of the windows read in this epoch */
    size_t epoch_steps, epoch_images;
    double lr;           /* of the last step */
    bool reset_loss;     /* the next step begins a loss window */
    size_t train_images; /* of the set that it goes through */
    struct claret_validated validated;
};

struct claret_weights_list;

struct claret_session {
    struct claret_options *options;
    struct claret_optimizer optimizer;
    struct claret_criterion criterion;
    struct claret_network *network;
    struct claret_choices choices;
    struct claret_rt *rt;
    struct claret_pool *pool;
    struct claret_engine train, eval; /* train.exec NULL: cannot train */
    enum claret_element element;
    struct claret_flight flight[CLARET_STAGE_SLOTS_MAX];
    const struct claret_engine *running; /* what the flights are of: its layout divides the stage */
    int slot;                            /* the next to use; STEP_SLOT on the device runs along */
    int flying;                          /* flights not landed yet, those before `slot` */
    struct {
        int depth, steps; /* how many may fly; since `start` */
        double start;
    } pace;
    double lr, momentum; /* of the next step; momentum: of Adam beta1 */
    bool stepped;        /* the optimizer has made its first step */
    bool update;         /* the next step ends with an update, whatever accumulate says */
    size_t updates;      /* that the optimizer has made */
    struct {
        size_t steps;
        double weight;                       /* of their images */
    } gathered;                              /* since the last update */
    bool swapped;                            /* the weights' average is in their place */
    bool reset_loss;                         /* the next step begins a loss window */
    const struct claret_dataset *validation; /* for tests while it trains, NULL: none; borrowed */
    struct claret_progress progress;         /* of the training that goes on next; zeros: from the start */
    struct claret_weight *weights;           /* parameters, then buffers; values NULL */
    volatile sig_atomic_t stop;
    size_t steps, epochs, images;
    double seconds, loss;
};

/* What the device keeps of the loss (op/batch.h). */
struct claret_window {
    double sum;   /* of the steps' losses */
    size_t count; /* steps */
    float last;
    size_t bad; /* 1 + the first step whose loss was not finite; 0: none */
};
/* Waits for all steps so far. CLARET_NOT_FINITE where one's loss was not. */
enum claret_status claret_session_window(struct claret_session *session, struct claret_window *window);

/* Fills session->weights. */
enum claret_status claret_session_list_weights(struct claret_session *session);
/* Random ones by the seed, or those of the option init. */
enum claret_status claret_session_first_weights(struct claret_session *session);
/* A whole tensor of the graph as floats, integers too, from and to the device; writing may change `values`.
 */
enum claret_status claret_session_read_tensor(struct claret_session *session, int tensor, float *values);
enum claret_status claret_session_write_tensor(struct claret_session *session, int tensor, float *values);
/* The step buffer as it is on the device; the slot in it is the session's own affair. */
enum claret_status claret_session_words(struct claret_session *session, uint32_t words[CLARET_STEP_WORDS]);
enum claret_status claret_session_set_words(struct claret_session *session,
                                            const uint32_t words[CLARET_STEP_WORDS]);
/* Everything that training changes, copied into `list`: parameters and buffers by their names, the
 * optimizer's state as a checkpoint has it. With the option ema the average stands in the parameters' place,
 * so that a checkpoint taken as weights is what was tested, and they in the average's. */
enum claret_status claret_session_keep(struct claret_session *session, struct claret_weights_list *list);
/* And back, but for the average, which stays in the parameters' place: changes nothing unless all of it is in
 * `list` (from the file `path`), and nothing else. */
enum claret_status claret_session_restore(struct claret_session *session, const char *path,
                                          const struct claret_weights_list *list);

/* Puts the average of the weights (option ema) in their place, and them in its; a second call puts them back.
 * Does nothing where there is no average yet. Waits for what is in flight. */
enum claret_status claret_session_swap_ema(struct claret_session *session);

/* CLARET_SHAPE: the data set is not of the kind (element, shape, classes) that the session was made for. */
enum claret_status claret_session_accepts(const struct claret_session *session,
                                          const struct claret_dataset *dataset);

/* Makes the next stage slot free for a run of `engine`: waits where as much is queued as may be. */
enum claret_status claret_session_reuse(struct claret_session *session, const struct claret_engine *engine);
/* The memory of the session's own for the next slot, NULL: no memory. */
unsigned char *claret_session_slot_memory(struct claret_session *session);
/* Sends the slot `memory` (labels and images filled, the header is written here) and enqueues one run of
 * `engine`. The memory must stay until claret_session_reuse() or _drain(); `loader` (may be NULL) gets
 * `batch` back then. */
enum claret_status claret_session_queue(struct claret_session *session, struct claret_engine *engine,
                                        unsigned char *memory, int count, struct claret_loader *loader,
                                        const struct claret_batch *batch);
/* Waits for everything in flight. */
enum claret_status claret_session_drain(struct claret_session *session);
/* Likewise after an error: frees without regard to what went wrong. */
void claret_session_abandon(struct claret_session *session);

#endif
