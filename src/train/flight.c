/* Batches in flight: sent and queued, not waited for yet. Those of a session are of one engine at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/engine.h"
#include "train/optimizer.h"
#include "train/session.h"

#define QUEUE_SECONDS 20e-3 /* of steps may be queued, … */
#define QUEUE_LEAST 2       /* … or so many steps that take longer */

static void give_back(struct claret_flight *flight)
{
    if (flight->loader)
        claret_loader_release(flight->loader, &flight->batch);
    flight->loader = NULL;
}

static enum claret_status land(struct claret_flight *flight)
{
    struct claret_ticket *upload = flight->upload, *step = flight->step;
    flight->upload = flight->step = NULL;
    enum claret_status uploaded = claret_ticket_wait(upload);
    enum claret_status stepped = claret_ticket_wait(step);
    give_back(flight);
    return uploaded != CLARET_OK ? uploaded : stepped;
}

/* The index-th of the flights, 0 the oldest. */
static struct claret_flight *flight_at(struct claret_session *session, int index)
{
    int slots = session->running->layout.slots;
    return &session->flight[(session->slot - session->flying + index + slots) % slots];
}

/* Lands the `count` oldest ones, the newest of these first: where it is done, all before it are. */
static enum claret_status land_oldest(struct claret_session *session, int count)
{
    enum claret_status status = CLARET_OK;
    for (int i = count - 1; i >= 0; i--) {
        enum claret_status landed = land(flight_at(session, i));
        status = status == CLARET_OK ? landed : status;
    }
    session->flying -= count;
    return status;
}

/* How many steps are about QUEUE_SECONDS, by the time that the last ones took. */
static void keep_pace(struct claret_session *session)
{
    int slots = session->running->layout.slots;
    if (++session->pace.steps < slots)
        return;
    double now = claret_clock(), seconds = (now - session->pace.start) / session->pace.steps;
    int least = QUEUE_LEAST < slots ? QUEUE_LEAST : slots;
    double depth = seconds > 0 ? QUEUE_SECONDS / seconds : slots;
    session->pace.depth = depth < least ? least : depth > slots ? slots : (int)depth;
    session->pace.start = now;
    session->pace.steps = 0;
}

/* Another engine's layout begins at slot 0. */
static enum claret_status change_engine(struct claret_session *session, const struct claret_engine *engine)
{
    const struct claret_place *step = &engine->plan->places[engine->graph->step];
    const uint32_t slot = 0;
    if (session->running)
        CLARET_TRY(claret_session_drain(session));
    CLARET_TRY(claret_pool_write(session->pool, step->buffer, step->offset + CLARET_STEP_SLOT * sizeof slot,
                                 sizeof slot, &slot));
    session->running = engine;
    session->slot = 0;
    session->pace.depth = QUEUE_LEAST;
    session->pace.steps = 0;
    session->pace.start = claret_clock();
    return CLARET_OK;
}

enum claret_status claret_session_reuse(struct claret_session *session, const struct claret_engine *engine)
{
    if (session->running != engine)
        CLARET_TRY(change_engine(session, engine));
    if (session->flying < session->pace.depth)
        return CLARET_OK;
    /* Half of them: to wait for each step would be to be woken for each. */
    return land_oldest(session, (session->flying + 1) / 2);
}

unsigned char *claret_session_slot_memory(struct claret_session *session)
{
    struct claret_flight *flight = &session->flight[session->slot];
    size_t slot = session->train.layout.slot;
    if (session->eval.layout.slot > slot)
        slot = session->eval.layout.slot;
    if (!flight->memory)
        flight->memory = calloc(1, slot);
    return flight->memory;
}

enum claret_status claret_session_drain(struct claret_session *session)
{
    enum claret_status status = session->flying ? land_oldest(session, session->flying) : CLARET_OK;
    enum claret_status finished = claret_rt_finish(session->rt);
    return status != CLARET_OK ? status : finished;
}

void claret_session_abandon(struct claret_session *session)
{
    claret_rt_finish(session->rt);
    for (int i = 0; i < CLARET_STAGE_SLOTS_MAX; i++) {
        struct claret_flight *flight = &session->flight[i];
        claret_ticket_drop(flight->upload);
        claret_ticket_drop(flight->step);
        flight->upload = flight->step = NULL;
        give_back(flight);
    }
    session->flying = 0;
    session->running = NULL; /* where STEP_SLOT stands is not known */
}

/* What the step's batch is among those of its update. */
static void gather(struct claret_session *session, int count, struct claret_stage_header *header)
{
    session->gathered.images += (size_t)count;
    header->weight = (float)((double)count / (double)session->gathered.images);
    header->more = ++session->gathered.steps < (size_t)session->options->accumulate && !session->update;
    session->update = false;
    if (header->more)
        return;
    session->gathered.steps = session->gathered.images = 0;
    session->updates++;
    session->stepped = true;
}

enum claret_status claret_session_queue(struct claret_session *session, struct claret_engine *engine,
                                        unsigned char *memory, int count, struct claret_loader *loader,
                                        const struct claret_batch *batch)
{
    if (engine->graph->training && session->swapped) /* it could not be put back before */
        CLARET_TRY(claret_session_swap_ema(session));
    struct claret_flight *flight = &session->flight[session->slot];
    struct claret_stage_header header = {
        .count = (uint32_t)count,
        .lr = (float)session->lr,
        .first = !session->stepped,
        .reset_loss = engine->graph->training && session->reset_loss,
        .resident = engine->graph->augmented >= 0 ? CLARET_AUGMENTED
                    : engine->graph->data >= 0    ? CLARET_NUMBERED
                                                  : CLARET_SENT,
        .seed = {(uint32_t)session->options->seed, (uint32_t)((uint64_t)session->options->seed >> 32)}};
    const struct claret_optimizer optimizer = claret_optimizer_at(&session->optimizer, session->momentum);
    header.momentum = claret_optimizer_momentum(&optimizer);
    claret_optimizer_corrections(&optimizer, session->updates + 1, &header.mean_scale, &header.square_scale);
    if (engine->graph->training)
        gather(session, count, &header);
    memcpy(memory, &header, sizeof header);
    const struct claret_place *place = &engine->plan->places[engine->graph->stage];
    uint64_t offset = place->offset + (uint64_t)session->slot * engine->layout.slot;
    uint64_t image = engine->graph->data >= 0 ? claret_engine_name_bytes(engine->graph->augmented >= 0)
                                              : engine->layout.image;
    uint64_t bytes = engine->layout.images + (uint64_t)count * image;
    flight->loader = loader;
    if (batch)
        flight->batch = *batch;
    CLARET_TRY(
        claret_pool_upload(session->pool, place->buffer, offset, bytes, memory, NULL, &flight->upload));
    CLARET_TRY(claret_exec_run(engine->exec, flight->upload, &flight->step));
    session->slot = (session->slot + 1) % engine->layout.slots;
    session->flying++;
    keep_pace(session);
    return CLARET_OK;
}
