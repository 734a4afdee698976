/* Training from a data set on the device: the same bits as with the same batches sent step by step. */
#include "rt_fixture.h"

#include <claret/claret.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "data/data.h"
#include "op/augment.h"
#include "train/engine.h"

#define COUNT 37
#define BATCH 4 /* the last batch is short */
#define IMAGE (3 * 9 * 7)

static const char fused[] =
    "input 3 9 7\nconv2d out_channels=4 kernel_size=3\nrelu\nmax_pool2d kernel_size=2\n"
    "flatten\nlinear out_features=5\n";
static const char apart[] = "input 3 9 7\nmax_pool2d kernel_size=2\nflatten\nlinear out_features=5\n";

struct trained {
    struct claret_network *network;
    struct claret_options *options;
    struct claret_dataset *dataset;
    struct claret_session *session;
    unsigned char images[COUNT * IMAGE];
    int32_t labels[COUNT];
};

static void begin(struct trained *trained, const char *text, bool augment)
{
    struct claret_rng rng;
    claret_rng_init(&rng, 9, CLARET_STREAM_SHAPES, 0);
    for (int i = 0; i < COUNT * IMAGE; i++)
        trained->images[i] = (unsigned char)claret_rng_below(&rng, 256);
    for (int i = 0; i < COUNT; i++)
        trained->labels[i] = (int32_t)claret_rng_below(&rng, 5);
    WORKS(claret_network_parse(text, "resident", &trained->network));
    WORKS(claret_dataset_from_arrays(CLARET_U8, trained->images, trained->labels, COUNT, 3, 9, 7, 5,
                                     &trained->dataset));
    WORKS(claret_options_create(&trained->options));
    WORKS(claret_options_set(trained->options, "batch-size", "4"));
    WORKS(claret_options_set(trained->options, "epochs", "2"));
    WORKS(claret_options_set(trained->options, "no-shuffle", "true"));
    WORKS(claret_options_set(trained->options, "no-cache", "true"));
    if (augment) {
        WORKS(claret_options_set(trained->options, "random-crop", "2"));
        WORKS(claret_options_set(trained->options, "random-horizontal-flip", "0.5"));
        WORKS(claret_options_set(trained->options, "random-erasing", "0.5"));
    }
    WORKS(claret_session_create(trained->network, trained->options, trained->dataset, 1, &trained->session));
}

static void end(struct trained *trained)
{
    claret_session_destroy(trained->session);
    claret_dataset_destroy(trained->dataset);
    claret_options_destroy(trained->options);
    claret_network_destroy(trained->network);
}

static void send(struct trained *trained, int epochs)
{
    for (int epoch = 0; epoch < epochs; epoch++)
        for (int i = 0; i < COUNT; i += BATCH)
            WORKS(claret_session_step(trained->session, trained->images + i * IMAGE, trained->labels + i,
                                      COUNT - i < BATCH ? COUNT - i : BATCH, NULL));
}

static void compare(const struct trained *a, const struct trained *b)
{
    for (size_t i = 0; i < claret_session_parameters(a->session); i++) {
        const char *name = claret_session_parameter_name(a->session, i);
        size_t shape[4], count;
        int rank;
        count = claret_session_parameter_shape(a->session, i, shape, &rank);
        float *values = calloc(2 * count, sizeof *values);
        assert_non_null(values);
        WORKS(claret_session_read(a->session, name, values, count));
        WORKS(claret_session_read(b->session, name, values + count, count));
        assert_memory_equal(values, values + count, count * sizeof *values);
        free(values);
    }
}

static void same(const char *text)
{
    static struct trained resident, sent;
    begin(&resident, text, false);
    begin(&sent, text, false);
    WORKS(claret_session_train(resident.session, resident.dataset, NULL, NULL));
    send(&sent, 2);
    compare(&resident, &sent);
    /* What was attached is gone: batches can be sent again. */
    send(&resident, 1);
    send(&sent, 1);
    compare(&resident, &sent);
    end(&resident);
    end(&sent);
}

/* What is augmented on the device and what on the loader's threads. */
static void same_augmented(const char *text)
{
    static struct trained resident, sent;
    begin(&resident, text, true);
    begin(&sent, text, true);
    WORKS(claret_session_train(resident.session, resident.dataset, NULL, NULL));
    claret_engine_reside_anywhere = false;
    WORKS(claret_session_train(sent.session, sent.dataset, NULL, NULL));
    claret_engine_reside_anywhere = true;
    compare(&resident, &sent);
    end(&resident);
    end(&sent);
}

static void test_same_bits(void **state)
{
    (void)state;
    same(fused);
    same(apart);
    same_augmented(fused);
    same_augmented(apart);
}

/* That the comparison above is one: such a data set does live on the device, one of float32 or too large does
 * not. */
static void test_what_resides(void **state)
{
    (void)state;
    static struct trained trained;
    struct claret_engine engine = {0};
    begin(&trained, apart, false);
    WORKS(claret_engine_reside(trained.session, trained.dataset, 0, &engine));
    assert_non_null(engine.exec);
    assert_true(engine.graph->data >= 0);
    claret_engine_release(trained.session, &engine);
    assert_null(engine.exec);
    WORKS(claret_engine_reside(trained.session, trained.dataset, CLARET_AUGMENT_ANY, &engine));
    assert_true(engine.exec && engine.graph->augmented >= 0);
    claret_engine_release(trained.session, &engine);
    if (claret_rt_device(trained.session->rt)->unified) {
        claret_engine_reside_anywhere = false;
        WORKS(claret_engine_reside(trained.session, trained.dataset, 0, &engine));
        assert_null(engine.exec);
        claret_engine_reside_anywhere = true;
    }
    trained.dataset->element = CLARET_F32;
    WORKS(claret_engine_reside(trained.session, trained.dataset, 0, &engine));
    assert_null(engine.exec);
    trained.dataset->element = CLARET_U8;
    trained.dataset->count = (size_t)1 << 50;
    WORKS(claret_engine_reside(trained.session, trained.dataset, 0, &engine));
    assert_null(engine.exec);
    trained.dataset->count = COUNT;
    end(&trained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_bits, fixture_no_objects),
        cmocka_unit_test_teardown(test_what_resides, fixture_no_objects),
    };
    int status = fixture_begin();
    if (status)
        return status;
    claret_engine_reside_anywhere = true;
    status = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_end();
    return status;
}
